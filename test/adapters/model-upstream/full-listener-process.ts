/** Listens, says where, and takes what comes: its test stops it with a signal and fills its queue. */
const listener = Bun.listen({ hostname: '127.0.0.1', port: 0, socket: { data() {} } });
process.stdout.write(`${listener.port}\n`);
