import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Certificates {
  /** Of the authority that signed the server's certificate. */
  readonly ca: string;
  /** Of one that signed nothing. */
  readonly otherCa: string;
  /** For the name `localhost` alone: not for 127.0.0.1. */
  readonly certificate: string;
  readonly key: string;
}

/** Files in `folder`, made by openssl. */
export function makeCertificates(folder: string): Certificates {
  const at = (name: string) => join(folder, name);
  const make = (...words: string[]) => {
    const made = spawnSync('openssl', words, { encoding: 'utf8' });
    if (made.status !== 0) throw new Error(`openssl failed:\n${made.stderr}`);
  };
  const authority = (name: string) => {
    const files = ['-keyout', at(`${name}.key`), '-out', at(`${name}.pem`)];
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
    make('req', '-x509', ...curve, ...files, '-days', '30', '-subj', `/CN=${name}`);
    return at(`${name}.pem`);
  };
  const [ca, otherCa] = [authority('ca'), authority('other-ca')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes'];
  make('req', ...curve, '-keyout', at('server.key'), '-out', at('server.csr'), '-subj', '/CN=localhost');
  writeFileSync(at('names'), 'subjectAltName=DNS:localhost');
  make(
    ...['x509', '-req', '-in', at('server.csr'), '-CA', ca, '-CAkey', at('ca.key'), '-CAcreateserial'],
    ...['-out', at('server.pem'), '-days', '30', '-extfile', at('names')],
  );
  return { ca, otherCa, certificate: at('server.pem'), key: at('server.key') };
}
