import { describe, expect, test } from 'bun:test';
import { useResource } from '../setup/use-resource.ts';
import { openBackend } from './backend-under-test.ts';

const backend = useResource(() => openBackend());

describe('GraphQL', () => {
  test('P-7 whoAmI tells id, email and isSuperAdmin', async () => {
    const { superAdmin, member } = backend.people;
    const query = '{ whoAmI { id email isSuperAdmin } }';
    expect(await member.ask(query)).toEqual({
      whoAmI: { id: member.userId, email: member.email, isSuperAdmin: false },
    });
    expect(await superAdmin.ask(query)).toMatchObject({ whoAmI: { isSuperAdmin: true } });
  });
  test('P-14 without a token UNAUTHENTICATED, without the right FORBIDDEN', async () => {
    const { nobody, member, admin } = backend.people;
    expect((await nobody.refusal('{ whoAmI { id } }')).extensions.code).toBe('UNAUTHENTICATED');
    expect((await admin.refusal('{ companies { nodes { id } } }')).extensions.code).toBe('FORBIDDEN');
    const rename = 'mutation { updateCompany(name: "X") { name } }';
    expect((await member.refusal(rename)).extensions.code).toBe('FORBIDDEN');
    expect(await admin.ask(rename)).toEqual({ updateCompany: { name: 'X' } });
  });
});
