import { Field, Form } from '../parts/form.tsx';
import { Bones, Card, Problem } from '../parts/page.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-asking.ts';

const COMPANY = graphql(`{ company { id name } }`);
const RENAME = graphql(`mutation($name: String!) { updateCompany(name: $name) { id } }`);

export function CompanyName() {
  const { session } = useConsole();
  const asked = useQuery<{ company: { readonly id: string; readonly name: string } }>(COMPANY);
  const company = asked.data?.company;
  return (
    <Card title="The company">
      <Problem error={asked.error} retry={asked.reload} />
      {company === undefined ? (
        <Bones lines={2} />
      ) : (
        <Form
          submit="Rename"
          send={async ({ text }) => {
            await session.ask(RENAME, { name: text('name') });
            await asked.reload();
          }}
        >
          <Field label="Name" name="name" maxLength={200} defaultValue={company.name} required />
          <p className="quiet small">
            Its id is <code>{company.id}</code>.
          </p>
        </Form>
      )}
    </Card>
  );
}
