import { prepareSignUp, signUp as signUpCompany } from '../../../domain/accounts/sign-up.ts';
import { bounded } from '../bounded-input.ts';
import { countAttempt } from '../counted-attempt.ts';
import { recordedChange } from '../recorded-change.ts';
import { badInput, conflict } from '../refusals.ts';
import type { Declaration } from '../schema-builder.ts';
import { startRecordedSession } from '../start-recorded-session.ts';

export const signUp: Declaration = (builder) => {
  const input = builder.inputType('SignUpInput', {
    fields: (t) => ({
      companyName: t.string({ required: true }),
      email: t.string({ required: true }),
      password: t.string({ required: true }),
    }),
  });
  builder.mutationField('signUp', (t) =>
    t.field({
      type: 'Session',
      description: 'A new company, whose first person, the caller, is its admin.',
      authScopes: { anyone: true },
      args: { input: t.arg({ type: input, required: true }) },
      async resolve(_root, args, context) {
        const { secrets } = context.parts;
        const companyName = bounded('line', 'input.companyName', args.input.companyName);
        const email = bounded('email', 'input.email', args.input.email);
        const password = bounded('secret', 'input.password', args.input.password);
        await countAttempt(context, 'sign-up', email);
        const prepared = await prepareSignUp(secrets, { companyName, email, password });
        if (prepared.outcome === 'bad-email') throw badInput('input.email', 'this is no e-mail address');
        if (prepared.outcome === 'bad-password') throw badInput('input.password', prepared.message);
        return await recordedChange(context, async (change) => {
          const added = await signUpCompany(change.transaction, secrets, prepared);
          if (added.outcome === 'email-taken') {
            throw conflict('This address has an account already: log in, or reset the password.');
          }
          const { companyId, userId } = added;
          await change.record({
            action: 'company.signed-up',
            objectKind: 'company',
            objectId: companyId,
            companyId,
            actor: { id: userId, email },
            details: { name: companyName },
          });
          return await startRecordedSession(context, change, { id: userId, email, companyId });
        });
      },
    }),
  );
};
