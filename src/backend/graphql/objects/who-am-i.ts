import type { Declaration } from '../schema-builder.ts';

export const whoAmIObject: Declaration = (builder) => {
  builder.enumType('Role', {
    values: {
      MEMBER: { description: 'Uses what the company has.' },
      COMPANY_ADMIN: { description: 'Also manages its people, keys and money.' },
    },
  });
  builder.objectType('WhoAmI', {
    description: 'The person behind the access token.',
    fields: (t) => ({
      id: t.exposeID('id'),
      email: t.exposeString('email'),
      isSuperAdmin: t.exposeBoolean('isSuperAdmin'),
      role: t.expose('role', { type: 'Role' }),
      companyId: t.exposeID('companyId', { nullable: true }),
    }),
  });
};
