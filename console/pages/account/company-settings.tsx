import { useState } from 'react';
import { Link, useLocation } from 'wouter';
import { Field, Form } from '../../parts/form.tsx';
import type { FormValues } from '../../parts/form-values.ts';
import { Bones, Card, Notice, Page, Problem } from '../../parts/page.tsx';
import { type DataOf, graphql } from '../../session/graphql.ts';
import { useChange, useQuery } from '../../session/use-query.ts';

const COMPANY = graphql(`{ company { id name taxId billingEmail
  address { line1 line2 postalCode city state country } } }`);
const UPDATE =
  graphql(`mutation($name: String, $address: CompanyAddressInput, $taxId: String, $billingEmail: String) {
  updateCompany(name: $name, address: $address, taxId: $taxId, billingEmail: $billingEmail) { id } }`);

type Company = DataOf<typeof COMPANY>['company'];

/** The two parts of the company's settings. */
export function SettingsTabs() {
  const [path] = useLocation();
  const tab = (href: string, name: string) => (
    <Link href={href} aria-current={path === href ? 'page' : undefined}>
      {name}
    </Link>
  );
  return (
    <nav className="tabs" aria-label="Company settings">
      {tab('/settings', 'Profile')}
      {tab('/keys', 'API keys')}
    </nav>
  );
}

export function CompanySettings() {
  const result = useQuery(COMPANY);
  const change = useChange(result.reload);
  const [isSaved, setSaved] = useState(false);
  const company = result.data?.company ?? null;
  return (
    <Page title="Company settings" says="What your invoices show, and the keys that your programs use.">
      <SettingsTabs />
      <Problem error={result.error} retry={result.reload} />
      <Card title="Profile">
        {company === null ? (
          result.error === null && <Bones lines={6} />
        ) : (
          <Profile
            company={company}
            save={async (profile) => {
              setSaved(false);
              await change(UPDATE, profile);
              setSaved(true);
            }}
          />
        )}
        {isSaved && <Notice mood="good">The profile is saved. Invoices from now on show it.</Notice>}
      </Card>
    </Page>
  );
}

function Profile({
  company,
  save,
}: {
  company: Company;
  save(profile: Partial<ReturnType<typeof read>>): Promise<void>;
}) {
  const { address } = company;
  const [first, setFirst] = useState(company);
  const send = async (values: FormValues) => {
    const profile = read(values);
    await save(changed(profile, first));
    setFirst({ ...first, ...profile });
  };
  return (
    <Form submit="Save the profile" guards send={send}>
      <Field label="Name" name="name" maxLength={200} defaultValue={company.name} required />
      <Field
        label="Address"
        name="line1"
        maxLength={200}
        autoComplete="address-line1"
        defaultValue={address?.line1}
      />
      <Field
        label="Address, second line"
        name="line2"
        maxLength={200}
        autoComplete="address-line2"
        defaultValue={address?.line2 ?? ''}
      />
      <div className="columns">
        <Field
          label="Postal code"
          name="postalCode"
          maxLength={200}
          autoComplete="postal-code"
          defaultValue={address?.postalCode ?? ''}
        />
        <Field label="City" name="city" maxLength={200} defaultValue={address?.city ?? ''} />
        <Field label="State or region" name="state" maxLength={200} defaultValue={address?.state ?? ''} />
        <Field
          label="Country"
          hint="Two letters, such as DE."
          name="country"
          maxLength={2}
          autoComplete="country"
          defaultValue={address?.country ?? ''}
        />
      </div>
      <Field
        label="Tax id"
        hint="As invoices should show it."
        name="taxId"
        maxLength={40}
        defaultValue={company.taxId ?? ''}
      />
      <Field
        label="Billing e-mail"
        hint="Receives receipts and invoices in addition to your admins."
        name="billingEmail"
        type="email"
        maxLength={254}
        defaultValue={company.billingEmail ?? ''}
      />
      <p className="quiet small">
        The id of the company is <code>{company.id}</code>.
      </p>
    </Form>
  );
}

/** Unchanged fields are not sent: another tab or user may have changed them meanwhile. */
function changed(profile: ReturnType<typeof read>, first: Company): Partial<ReturnType<typeof read>> {
  const same = (one: unknown, other: unknown) => JSON.stringify(one) === JSON.stringify(other);
  return {
    ...(profile.name === first.name ? {} : { name: profile.name }),
    ...(same(profile.address, first.address) ? {} : { address: profile.address }),
    ...(profile.taxId === first.taxId ? {} : { taxId: profile.taxId }),
    ...(profile.billingEmail === first.billingEmail ? {} : { billingEmail: profile.billingEmail }),
  };
}

/** An empty field removes its value. The address is sent as a whole, and removed if all of its fields are empty. */
function read({ text }: FormValues) {
  const orNull = (name: string) => text(name) || null;
  const rest = ['line2', 'postalCode', 'city', 'state', 'country'].some((name) => text(name) !== '');
  const hasAddress = text('line1') !== '' || rest;
  return {
    name: text('name'),
    address: hasAddress
      ? {
          line1: text('line1'),
          line2: orNull('line2'),
          postalCode: orNull('postalCode'),
          city: orNull('city'),
          state: orNull('state'),
          country: text('country'),
        }
      : null,
    taxId: orNull('taxId'),
    billingEmail: orNull('billingEmail'),
  };
}
