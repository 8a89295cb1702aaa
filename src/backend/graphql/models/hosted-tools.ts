import { creditsAsNumber } from '../../../domain/credits/ledger/credit-account.ts';
import { lockVersion } from '../../../domain/models/alias-version.ts';
import type { AliasName } from '../../../domain/models/aliases.ts';
import {
  DEFAULT_TOOL_USES,
  HOSTED_TOOLS,
  type HostedTool,
  MOST_PROVIDER_IDS,
  readTools,
  type StoredTools,
  setAliasTools,
} from '../../../domain/models/hosted-tools.ts';
import { freshCode } from '../access.ts';
import { badInput, changedSince, notFound } from '../errors.ts';
import { bounded } from '../input.ts';
import type { FieldSize } from '../query-cost.ts';
import { recordedChange } from '../recorded-change.ts';
import type { RequestContext } from '../request-context.ts';
import type { Declaration } from '../schema-builder.ts';
import { findModelAlias } from './model-aliases.ts';

declare module '../schema-builder.ts' {
  interface SchemaObjects {
    HostedTool: HostedTool;
    AliasTool: { readonly name: string; readonly priceMicro: number };
    AliasTools: StoredTools;
  }
}

const objects: Declaration = (builder) => {
  builder.objectType('HostedTool', {
    description: 'A tool that runs at the provider and can be enabled on an alias.',
    fields: (t) => ({
      name: t.exposeString('name'),
      title: t.exposeString('title'),
    }),
  });
  builder.queryField('hostedTools', (t) =>
    t.field({
      type: ['HostedTool'],
      extensions: { maxRows: 10 } satisfies FieldSize,
      description: 'The tools of providers that an alias may have.',
      authScopes: { superAdmin: true },
      resolve: () => [...HOSTED_TOOLS],
    }),
  );
  builder.objectType('AliasTool', {
    fields: (t) => ({
      name: t.exposeString('name'),
      creditsPerUse: t.float({ resolve: ({ priceMicro }) => creditsAsNumber(BigInt(priceMicro)) }),
    }),
  });
  builder.objectType('AliasTools', {
    description: 'What clients of an alias may use at its provider besides the model.',
    fields: (t) => ({
      tools: t.field({
        type: ['AliasTool'],
        extensions: { maxRows: 10 } satisfies FieldSize,
        description: 'The enabled ones.',
        resolve: ({ prices }) =>
          HOSTED_TOOLS.flatMap(({ name }) => {
            const priceMicro = prices[name];
            return priceMicro === undefined ? [] : { name, priceMicro };
          }),
      }),
      maxUses: t.int({
        description: 'Maximum uses of hosted tools in one call if the request does not set a limit.',
        resolve: ({ maxUses }) => maxUses ?? DEFAULT_TOOL_USES,
      }),
      providerIds: t.stringList({
        description: 'Ids of what is stored at the provider that clients may name; * is all of them.',
        resolve: ({ providerIds }) => [...providerIds],
      }),
    }),
  });
  builder.objectField('ModelAlias', 'hostedTools', (t) =>
    t.loadable({
      type: 'AliasTools',
      nullable: true,
      extensions: { maxRows: 1 } satisfies FieldSize,
      description: 'For super admins. Null if none is enabled.',
      authScopes: { superAdmin: true },
      load: loadTools,
      resolve: ({ name }) => name,
    }),
  );
};

async function loadTools(names: AliasName[], { parts }: RequestContext): Promise<(StoredTools | null)[]> {
  const stored = await readTools(parts.database);
  return names.map((name) => stored.find(({ alias }) => alias === name) ?? null);
}

const changes: Declaration = (builder) => {
  const tool = builder.inputType('AliasToolInput', {
    fields: (t) => ({
      name: t.string({ required: true, description: 'One of hostedTools.' }),
      creditsPerUse: t.float({ required: true }),
    }),
  });
  const input = builder.inputType('AliasToolsInput', {
    fields: (t) => ({
      tools: t.field({
        type: [tool],
        required: true,
        description: 'The complete list of enabled ones; it replaces the current list.',
      }),
      maxUses: t.int({
        description:
          'Maximum uses in one call if the request does not set a limit, 1 to 1000. Omitted: unchanged.',
      }),
      providerIds: t.stringList({
        description:
          'Ids of what is stored at the provider that every company with this alias may name; * is all of them, and ' +
          'then companies are not isolated from each other there. Left out: stays.',
      }),
    }),
  });
  builder.mutationField('setAliasTools', (t) =>
    t.field({
      type: 'ModelAlias',
      description:
        'Which tools of the provider an alias has, and what one use costs. In force within a second.',
      authScopes: { superAdmin: true },
      args: {
        alias: t.arg.string({ required: true }),
        input: t.arg({ type: input, required: true }),
        ifVersion: t.arg.string({
          description: 'The version that the change is based on. CONFLICT if the alias has a different one.',
        }),
      },
      async resolve(_root, args, context) {
        await freshCode(context);
        const { secrets, aliasPrefix: prefix } = context.parts;
        const alias = bounded('line', 'alias', args.alias);
        const { maxUses, providerIds } = args.input;
        if (args.input.tools.length > HOSTED_TOOLS.length)
          throw badInput('input.tools', 'a tool is listed twice');
        if ((providerIds?.length ?? 0) > MOST_PROVIDER_IDS) {
          throw badInput('input.providerIds', `an alias has at most ${MOST_PROVIDER_IDS}`);
        }
        const tools = Object.fromEntries(
          args.input.tools.map((one) => [bounded('line', 'input.tools.name', one.name), one.creditsPerUse]),
        );
        return await recordedChange(context, async ({ database, sharedState, record }) => {
          const parts = { database, sharedState, secrets, prefix };
          if (!(await lockVersion(parts, alias, args.ifVersion))) throw changedSince('alias');
          const params = { tools, maxUses: maxUses ?? undefined, providerIds: providerIds ?? undefined };
          const set = await setAliasTools(parts, alias, params);
          if (set.outcome === 'unknown-alias') throw notFound('model alias');
          if (set.outcome === 'wrong-tools') throw badInput('input', set.problem);
          const object = { objectKind: 'model-alias', objectId: alias, companyId: null };
          const shown = Object.entries(tools).map(([tool, credits]) => `${tool} ${credits}`);
          const details = { tools: shown, maxUses: maxUses ?? null, providerIds: providerIds ?? null };
          await record({ action: 'alias.tools-set', ...object, details });
          return await findModelAlias({ database, aliasPrefix: prefix }, alias);
        });
      },
    }),
  );
};

export const hostedToolDeclarations: readonly Declaration[] = [objects, changes];
