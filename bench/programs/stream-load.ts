/** Opens many slow streams at once and counts the events of each: a lost one would show. */
const [url = '', key = '', streams = '1000'] = process.argv.slice(2);
const body = '{"model":"svc/chat-default","messages":[],"stream":true,"slow":true}';
const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
const counts = await Promise.all(
  Array.from({ length: Number(streams) }, async () => {
    const response = await fetch(url, { method: 'POST', headers, body });
    const text = await response.text();
    return { events: text.split('\n\n').length - 1, isWhole: text.endsWith('data: [DONE]\n\n') };
  }),
);
const whole = counts.filter(({ isWhole }) => isWhole).length;
const events = counts.reduce((sum, count) => sum + count.events, 0);
process.stdout.write(`${JSON.stringify({ whole, events })}\n`);

export {};
