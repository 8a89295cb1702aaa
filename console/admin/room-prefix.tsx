import { Dialog } from '../parts/dialog.tsx';
import { Field, Form } from '../parts/form.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';

const SET_PREFIX = graphql(
  `mutation($id: ID!, $prefix: String!) { setRoomPrefix(companyId: $id, prefix: $prefix) { id } }`,
);

interface RoomPrefixProps {
  readonly company: { readonly id: string; readonly name: string; readonly roomPrefix: string | null };
  close(): void;
  changed(): Promise<void>;
}

/** Gives a company the rooms of the meeting server whose names begin alike. */
export function RoomPrefix({ company, close, changed }: RoomPrefixProps) {
  const { session } = useConsole();
  return (
    <Dialog title={`Room prefix of ${company.name}`} close={close}>
      <p className="quiet">
        Rooms whose names begin with it belong to the company without being announced, as far as nothing was
        reported of them before.
      </p>
      <Form
        submit="Save"
        beside={
          <button type="button" onClick={close}>
            Cancel
          </button>
        }
        send={async ({ text }) => {
          await session.request(SET_PREFIX, { id: company.id, prefix: text('prefix') });
          await changed();
          close();
        }}
      >
        <Field
          label="Prefix"
          name="prefix"
          hint="Such as acme-. In any case. Empty: none."
          maxLength={100}
          defaultValue={company.roomPrefix ?? ''}
        />
      </Form>
    </Dialog>
  );
}
