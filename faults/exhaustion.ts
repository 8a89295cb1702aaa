import { connect, type Socket } from 'node:net';
import type { DemoFile } from '../test/system/running-system.ts';
import type { FaultCase } from './frame/fault-case.ts';
import { attackSteadily, type ExhaustionAttack, exhaustionCase } from './frame/under-attack.ts';

/** Every type nine times, with the fields of its fields' types: without signing in, in less than a kilobyte. */
const NESTED_INTROSPECTION = `{__schema{types{${[...'abcdefghi']
  .map((alias) => `${alias}:fields{name args{name type{name}} type{name ofType{name fields{name}}}}`)
  .join(' ')}}}}`;

const JSON_BODY = { 'content-type': 'application/json' };
const UNREAD_CLIENTS = 100;
const LARGE_TALENTS = 30;
const CREATE_TALENT = 'mutation($profile: JSON!) { createTalent(input: { profile: $profile }) { id } }';
const LARGE_PAGE = '{ talents(first: 30) { nodes { id profile } } }';
const HUGE_PAGES = `{ ${Array.from({ length: 25 }, (_, page) => `a${page}: talents(first: 100) { nodes { profile text versions { profile } } }`).join(' ')} }`;

const attacks: readonly ExhaustionAttack[] = [
  {
    name: 'introspection',
    what: 'ten nested introspection queries a second, without signing in, beside calls of the gateway',
    begin: ({ demo }) =>
      attackSteadily(10, () => ({
        url: `${demo.backend_url}/graphql`,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ query: NESTED_INTROSPECTION }),
      })),
  },
  {
    name: 'documents',
    what: 'long CVs, five a second, are read by the gateway’s parser beside calls of the gateway',
    begin: ({ demo }) =>
      attackSteadily(5, (number) => ({
        url: `${demo.gateway_url}/parse/cv`,
        headers: { authorization: `Bearer ${demo.full_key}`, 'content-type': 'application/json' },
        body: JSON.stringify({ text: longCv(number) }),
      })),
  },
  {
    name: 'validation',
    what: 'twenty queries a second that are slow to validate, without signing in',
    begin: ({ demo }) =>
      attackSteadily(20, (number) => ({
        url: `${demo.backend_url}/graphql`,
        headers: JSON_BODY,
        body: JSON.stringify({ query: `{${'company{id name}'.repeat(320)}} #${number}` }),
      })),
  },
  {
    name: 'large-answers',
    what: 'ten queries a second of a member for answers of hundreds of megabytes, every fifth one for one of 3 MB',
    async begin({ demo }) {
      const headers = { ...JSON_BODY, authorization: `Bearer ${await signIn(demo)}` };
      const url = `${demo.backend_url}/graphql`;
      for (let talent = 0; talent < LARGE_TALENTS; talent += 1) {
        const profile = { basics: { name: `Person ${talent}`, summary: 'x'.repeat(90_000) } };
        const body = JSON.stringify({ query: CREATE_TALENT, variables: { profile } });
        await (await fetch(url, { method: 'POST', headers, body })).text();
      }
      return attackSteadily(10, (number) => {
        const query = number % 5 === 0 ? LARGE_PAGE : HUGE_PAGES;
        return { url, headers, body: JSON.stringify({ query: `${query} #${number}` }) };
      });
    },
  },
  {
    name: 'never-reading',
    what: `${UNREAD_CLIENTS} clients that ask for streams and never read them`,
    async begin({ demo }) {
      const { hostname, port } = new URL(demo.gateway_url);
      const sockets = await Promise.all(
        Array.from({ length: UNREAD_CLIENTS }, () => unreadStream(hostname, Number(port), demo.full_key)),
      );
      return {
        async stop() {
          for (const socket of sockets) socket.destroy();
          return `nothing of ${sockets.length} streams`;
        },
      };
    },
  },
];

export const exhaustionFaults: readonly FaultCase[] = attacks.map(exhaustionCase);

async function signIn(demo: DemoFile): Promise<string> {
  const query =
    'mutation($email: String!, $password: String!) { login(email: $email, password: $password) { accessToken } }';
  const body = JSON.stringify({ query, variables: demo.company_admin });
  const answer = await fetch(`${demo.backend_url}/graphql`, { method: 'POST', headers: JSON_BODY, body });
  const { data } = (await answer.json()) as { data: { login: { accessToken: string } } };
  return data.login.accessToken;
}

function unreadStream(hostname: string, port: number, rawKey: string): Promise<Socket> {
  const body = JSON.stringify({
    model: 'svc/chat-default',
    messages: [{ role: 'user', content: 'Hi' }],
    stream: true,
  });
  const head = [
    'POST /llm/v1/chat/completions HTTP/1.1',
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${rawKey}`,
    'content-type: application/json',
    `content-length: ${body.length}`,
  ];
  return new Promise((resolve, reject) => {
    const socket = connect(port, hostname, () => {
      socket.pause();
      socket.write(`${head.join('\r\n')}\r\n\r\n${body}`, () => resolve(socket));
    });
    socket.on('error', reject);
  });
}

function longCv(number: number): string {
  const entry = `Engineer at Company ${number}, 2015 to 2019\nBuilt payment systems with TypeScript and PostgreSQL.\n`;
  return `Ada Byron ${number}\nada${number}@example.com\nSkills: TypeScript, PostgreSQL, weaving\n${entry.repeat(1_000)}`;
}
