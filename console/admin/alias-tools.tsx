import { Dialog, DialogLoading } from '../parts/dialog.tsx';
import { Area, Field, Form } from '../parts/form.tsx';
import { useConsole } from '../session/console-context.ts';
import { graphql } from '../session/graphql.ts';
import { useQuery } from '../session/use-query.ts';

const HOSTED_TOOLS = graphql('{ hostedTools { name title } }');
const SET_TOOLS = graphql(`mutation($alias: String!, $input: AliasToolsInput!, $ifVersion: String) {
  setAliasTools(alias: $alias, input: $input, ifVersion: $ifVersion) { alias } }`);

interface StoredTools {
  readonly tools: readonly { readonly name: string; readonly creditsPerUse: number }[];
  readonly maxUses: number;
  readonly providerIds: readonly string[];
}

interface ToolsFormProps {
  readonly alias: string;
  /** The one that the form was opened with. */
  readonly version: string | null;
  readonly stored: StoredTools | null;
  close(): void;
  changed(): Promise<void>;
}

/** The hosted tools of an alias. An empty price disables a tool. */
export function ToolsForm({ alias, version, stored, close, changed }: ToolsFormProps) {
  const { session } = useConsole();
  const known = useQuery(HOSTED_TOOLS);
  const tools = known.data?.hostedTools;
  return (
    <Dialog title={`Hosted tools of ${alias}`} isWide close={close}>
      <p className="quiet">
        Tools that run at the provider: enter credits for one use, on top of the tokens. A tool without a
        price is off.
      </p>
      {tools === undefined ? (
        <DialogLoading error={known.error} retry={known.reload} close={close} />
      ) : (
        <Form
          submit="Save the tools"
          beside={
            <button type="button" onClick={close}>
              Cancel
            </button>
          }
          send={async ({ text, number }) => {
            const input = {
              tools: tools.flatMap(({ name }) => {
                const creditsPerUse = number(`tool-${name}`);
                return creditsPerUse === null ? [] : { name, creditsPerUse };
              }),
              maxUses: number('maxUses') ?? 10,
              providerIds: text('providerIds').split(/\s+/).filter(Boolean),
            };
            await session.request(SET_TOOLS, { alias, input, ifVersion: version });
            await changed();
            close();
          }}
        >
          {tools.map(({ name, title }) => (
            <Field
              key={name}
              label={title}
              name={`tool-${name}`}
              type="number"
              min={0}
              step="any"
              defaultValue={stored?.tools.find((tool) => tool.name === name)?.creditsPerUse ?? ''}
            />
          ))}
          <Field
            label="Uses a call"
            name="maxUses"
            type="number"
            min={1}
            max={1000}
            required
            defaultValue={stored?.maxUses ?? 10}
            hint="If the request sets no limit of its own. Credits for this many uses are held before the call begins."
          />
          <Area
            label="Ids of the provider that clients may name, one per line"
            name="providerIds"
            rows={2}
            defaultValue={stored?.providerIds.join('\n')}
            placeholder="vs_…"
            spellCheck={false}
          />
          <small className="quiet">
            Files, vector stores, containers and prompts in your account there. Every company that may call
            this alias can use them. * allows every id: then companies are not isolated from each other at the
            provider.
          </small>
        </Form>
      )}
    </Dialog>
  );
}
