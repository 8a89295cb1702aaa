import { afterEach, describe, expect, test } from 'bun:test';
import { readEml } from '../../../src/adapters/mail/mime-message.ts';
import type { SmtpOptions } from '../../../src/adapters/mail/smtp.ts';
import type { Mail } from '../../../src/ports/mail.ts';
import { until } from '../../doubles/until.ts';
import { TEST_CERTIFICATE, TEST_KEY } from './mail-certificate.ts';
import {
  type MailServerUnderTest,
  mailTo,
  message,
  reply,
  type Script,
  startMailServer,
} from './mail-server.ts';

const encrypted = { key: TEST_KEY, cert: TEST_CERTIFICATE, hideSTARTTLS: false };

describe('mail over SMTP', () => {
  const open: { server: MailServerUnderTest; mail: Mail }[] = [];
  afterEach(async () => {
    for (const { server, mail } of open.splice(0)) {
      await mail.close(0);
      await server.close();
    }
  });

  async function opened(script: Script = {}, options: Partial<SmtpOptions> = {}, account = '', query = '') {
    const server = await startMailServer(script);
    const mail = mailTo(`smtp://${account}127.0.0.1:${server.port}${query}`, options);
    open.push({ server, mail });
    return { server, mail };
  }

  test('A-13 a message arrives as it was written, under its Message-ID', async () => {
    const { server, mail } = await opened();
    const sent = message({ headers: { 'Auto-Submitted': 'auto-generated' } });
    expect(await mail.send(sent)).toEqual({ outcome: 'accepted' });
    const [received] = server.received;
    expect(received).toMatchObject({
      from: 'no-reply@mail.example',
      to: ['ada@customer.example'],
      user: null,
    });
    expect(received?.eml).toContain('Auto-Submitted: auto-generated\r\n');
    expect(received?.eml).toContain('\r\nDate: Tue, 01 Jan 2030 00:00:00 +0000\r\n');
    expect(readEml(received?.eml ?? '')).toEqual({
      messageId: sent.messageId,
      from: 'Türnpike, "the" <gateway> <no-reply@mail.example>',
      to: sent.to,
      subject: sent.subject,
      text: 'Hello\n.\n..dots',
      html: sent.html,
    });
  });

  test('A-13 a message that the server defers may be retried, and is accepted then', async () => {
    const { server, mail } = await opened({
      onRecipient: (_, tries) => (tries === 1 ? reply(450, '4.2.0 greylisted') : null),
      onMessage: (_, tries) => (tries === 1 ? reply(451, '4.3.0 try later') : null),
    });
    expect(await mail.send(message())).toEqual({ outcome: 'failed', reason: expect.stringContaining('450') });
    expect(await mail.send(message())).toEqual({ outcome: 'failed', reason: expect.stringContaining('451') });
    expect(await mail.send(message())).toEqual({ outcome: 'accepted' });
    expect(server.received).toHaveLength(1);
    expect(server.sessions.size).toBe(1);
  });

  test('A-13 a rejection by the server is permanent, and its reason has no address', async () => {
    const { server, mail } = await opened({
      onRecipient: (to) =>
        to.startsWith('ada') ? reply(550, `5.1.1 <${to}>: no ada here, see https://x.example/t?k=1`) : null,
      onMessage: () => reply(554, '5.7.1 spam'),
    });
    const refused = await mail.send(message());
    expect(refused).toEqual({
      outcome: 'refused',
      reason: 'RCPT TO: 550 5.1.1 <[address]>: no [address] here, see [link]',
    });
    const spam = await mail.send(message({ to: 'bob@customer.example' }));
    expect(spam).toEqual({ outcome: 'refused', reason: 'DATA: 554 5.7.1 spam' });
    expect(server.received).toEqual([]);
  });

  test('a server that closes the connection during the message has not accepted it', async () => {
    let isFirst = true;
    const { server, mail } = await opened({
      options: {
        onData(stream, _session, done) {
          stream.once('data', () => {
            if (isFirst) server.hangUp();
            isFirst = false;
          });
          stream.on('end', () => done());
        },
      },
    });
    const outcome = await mail.send(message({ text: 'y'.repeat(800_000) }));
    expect(outcome.outcome).toBe('failed');
    expect(await mail.send(message())).toEqual({ outcome: 'accepted' });
  });

  test('a server that stops responding times out', async () => {
    const silent = Promise.withResolvers<null>();
    const { server, mail } = await opened({ onMessage: () => silent.promise }, { silenceTimeoutMs: 1_000 });
    expect(await mail.send(message())).toMatchObject({ outcome: 'failed' });
    silent.resolve(null);
    expect(server.sessions.size).toBe(1);
  });

  test('a server that sends its responses slowly is disconnected at the deadline', async () => {
    const trickling = Bun.listen({
      hostname: '127.0.0.1',
      port: 0,
      socket: {
        open(socket) {
          const timer = setInterval(
            () => (socket.write('220-wait\r\n') > 0 ? null : clearInterval(timer)),
            20,
          );
        },
        data() {},
      },
    });
    const mail = mailTo(`smtp://127.0.0.1:${trickling.port}`, { sendTimeoutMs: 200 });
    expect(await mail.send(message())).toEqual({
      outcome: 'failed',
      reason: expect.stringContaining('it took longer than 200 ms'),
    });
    await mail.close(0);
    trickling.stop(true);
  });

  test('messages share a bounded number of connections', async () => {
    const { server, mail } = await opened({}, { maxConnections: 2 });
    const outcomes = await Promise.all(Array.from({ length: 30 }, () => mail.send(message())));
    expect(outcomes.every(({ outcome }) => outcome === 'accepted')).toBe(true);
    expect(server.received).toHaveLength(30);
    expect(server.sessions.size).toBeWithin(1, 3);
  });

  test('an idle connection that the server closed uses up no try', async () => {
    const { server, mail } = await opened();
    expect(await mail.send(message())).toEqual({ outcome: 'accepted' });
    server.hangUp();
    expect(await mail.send(message())).toEqual({ outcome: 'accepted' });
    expect(server.sessions.size).toBe(2);
  });

  test('a connection carries a bounded number of messages', async () => {
    const { server, mail } = await opened({}, { messagesPerConnection: 2, maxConnections: 1 });
    for (let n = 0; n < 5; n += 1) expect(await mail.send(message())).toEqual({ outcome: 'accepted' });
    expect(server.sessions.size).toBe(3);
  });

  test('a wrong password is not a failure of the message', async () => {
    const options: Script['options'] = {
      authOptional: false,
      allowInsecureAuth: true,
      onAuth: ({ username, password }, _session, done) =>
        password === 'right:@/' ? done(null, { user: username ?? '' }) : done(reply(535, '5.7.8 not you')),
    };
    const wrong = await opened({ options }, {}, 'turnpike:wrong@', '?tls=off');
    const failed = await wrong.mail.send(message());
    expect(failed).toEqual({ outcome: 'failed', reason: expect.stringContaining('535') });
    expect(JSON.stringify(failed)).not.toContain('wrong');
    const right = await opened({ options }, {}, 'turnpike:right%3A%40%2F@', '?tls=off');
    expect(await right.mail.send(message())).toEqual({ outcome: 'accepted' });
    expect(right.server.received[0]?.user).toBe('turnpike');
    const unauthenticated = await opened({ options });
    expect(await unauthenticated.mail.send(message())).toEqual({
      outcome: 'failed',
      reason: expect.stringContaining('530'),
    });
  });

  test('STARTTLS is used where it is offered, and the certificate is checked', async () => {
    const trusting = await opened({ options: encrypted }, { certificateAuthorities: TEST_CERTIFICATE });
    expect(await trusting.mail.send(message())).toEqual({ outcome: 'accepted' });
    expect(trusting.server.received[0]?.isEncrypted).toBe(true);
    const doubting = await opened({ options: encrypted });
    expect(await doubting.mail.send(message())).toMatchObject({ outcome: 'failed' });
    expect(doubting.server.received).toEqual([]);
  });

  test('without STARTTLS, where it is required, nothing is sent', async () => {
    const { server, mail } = await opened({}, {}, '', '?tls=required');
    expect(await mail.send(message())).toMatchObject({ outcome: 'failed' });
    expect(server.received).toEqual([]);
  });

  test('smtps:// is encrypted from the start', async () => {
    const server = await startMailServer({ options: { ...encrypted, secure: true } });
    const mail = mailTo(`smtps://127.0.0.1:${server.port}`, { certificateAuthorities: TEST_CERTIFICATE });
    expect(await mail.send(message())).toEqual({ outcome: 'accepted' });
    expect(server.received[0]?.isEncrypted).toBe(true);
    await mail.close(0);
    await server.close();
  });

  test('closing lets a message in progress finish, and accepts no other', async () => {
    const held = Promise.withResolvers<null>();
    const { server, mail } = await opened({ onMessage: () => held.promise }, { maxConnections: 1 });
    const first = mail.send(message());
    const second = mail.send(message());
    await until(() => server.sessions.size === 1);
    const closing = mail.close(10_000);
    held.resolve(null);
    expect(await first).toEqual({ outcome: 'accepted' });
    expect(await second).toEqual({ outcome: 'failed', reason: 'the process stops' });
    await closing;
    expect(await mail.send(message())).toEqual({ outcome: 'failed', reason: 'the process stops' });
  });

  test('closing past its deadline closes the connection', async () => {
    const { server, mail } = await opened({ onMessage: () => new Promise(() => {}) });
    const sent = mail.send(message());
    await until(() => server.sessions.size === 1);
    await mail.close(50);
    expect(await sent).toEqual({ outcome: 'failed', reason: expect.stringContaining('the process stops') });
  });
});
