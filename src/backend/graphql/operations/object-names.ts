import { findCompanyNames } from '../../../domain/accounts/company.ts';
import { findMembers, findPeople } from '../../../domain/accounts/members.ts';
import { findCreditPacks } from '../../../domain/catalog/credit-pack.ts';
import { findPlans } from '../../../domain/catalog/plan.ts';
import { findJobs } from '../../../domain/jobs/job.ts';
import { isId } from '../../../domain/keys/api-key.ts';
import { findKeyNames, findKeys } from '../../../domain/keys/key-lifecycle.ts';
import { findTalentNames } from '../../../domain/talents/talent.ts';
import type { Statements } from '../../../ports/database.ts';
import { signedIn } from '../access.ts';
import { badInput } from '../errors.ts';
import { LONGEST_PAGE } from '../paging.ts';
import type { FieldSize } from '../query-cost.ts';
import type { Declaration } from '../schema-builder.ts';

interface ObjectName {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
}

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    ObjectName: ObjectName;
  }
}

const LONGEST_ID = 100;

const objectNames: Declaration = (builder) => {
  builder.objectType('ObjectName', {
    description: 'The object that an id belongs to.',
    fields: (t) => ({
      id: t.exposeID('id'),
      kind: t.exposeString('kind', { description: 'As `objectKind` of the audit log.' }),
      name: t.exposeString('name', { description: 'A name, a title, or the e-mail address of a person.' }),
    }),
  });
  builder.queryField('objectNames', (t) =>
    t.field({
      type: ['ObjectName'],
      description:
        'Names for ids in reports and logs. Company admins get those of their own company, plans and packs; super admins ' +
        'those of companies, people, keys, plans and packs. What is unknown, or another company’s, is left out.',
      authScopes: { companyAdmin: true, superAdmin: true },
      extensions: { maxRows: LONGEST_PAGE } satisfies FieldSize,
      args: { ids: t.arg.idList({ required: true, description: 'At most 100.' }) },
      async resolve(_root, args, context) {
        if (args.ids.length > LONGEST_PAGE) throw badInput('ids', `at most ${LONGEST_PAGE} are allowed`);
        if (args.ids.some((id) => String(id).length > LONGEST_ID))
          throw badInput('ids', `an id has at most ${LONGEST_ID} characters`);
        const ids = [...new Set(args.ids.map(String).filter(isId))];
        if (ids.length === 0) return [];
        const { isSuperAdmin, companyId } = await signedIn(context);
        const { database } = context.parts;
        const found = [
          await namesOfCatalog(database, ids),
          isSuperAdmin ? await namesOfAll(database, ids) : [],
          companyId === null ? [] : await namesOfCompany(database, companyId, ids),
        ].flat();
        return [...new Map(found.map((one) => [one.id, one])).values()];
      },
    }),
  );
};

async function namesOfCatalog(statements: Statements, ids: readonly string[]): Promise<ObjectName[]> {
  const [plans, packs] = [await findPlans(statements, ids), await findCreditPacks(statements, ids)];
  return [...plans.map(as('plan')), ...packs.map(as('credit-pack'))];
}

/** For operators: names of users and keys, but not of jobs or talents. */
async function namesOfAll(statements: Statements, ids: readonly string[]): Promise<ObjectName[]> {
  const companies = await findCompanyNames(statements, ids);
  const people = await findPeople(statements, ids);
  const keys = await findKeyNames(statements, ids);
  return [...companies.map(as('company')), ...people.map(ofPerson), ...keys.map(as('api-key'))];
}

async function namesOfCompany(
  statements: Statements,
  companyId: string,
  ids: readonly string[],
): Promise<ObjectName[]> {
  const companies = ids.includes(companyId) ? await findCompanyNames(statements, [companyId]) : [];
  const people = await findMembers(statements, companyId, ids);
  const keys = await findKeys(statements, companyId, ids);
  const jobs = await findJobs(statements, companyId, ids);
  const talents = await findTalentNames(statements, companyId, ids);
  return [
    ...companies.map(as('company')),
    ...people.map(ofPerson),
    ...keys.map(({ id, name, lastFour }) => ({ id, kind: 'api-key', name: `${name} (…${lastFour})` })),
    ...jobs.flatMap((job) => (job === null ? [] : { id: job.id, kind: 'job', name: job.title })),
    ...talents.map(as('talent')),
  ];
}

const as =
  (kind: string) =>
  ({ id, name }: { readonly id: string; readonly name: string }): ObjectName => ({ id, kind, name });

const ofPerson = ({ id, email }: { readonly id: string; readonly email: string }): ObjectName => ({
  ...{ id, kind: 'user', name: email },
});

export const objectNameDeclarations: readonly Declaration[] = [objectNames];
