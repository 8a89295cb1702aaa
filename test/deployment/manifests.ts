import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, read } from './deployment-files.ts';

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string };
}

export interface Container {
  readonly command: readonly string[];
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[];
  readonly envFrom: readonly { readonly configMapRef: { readonly name: string } }[];
  readonly env: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: { readonly secretKeyRef: object };
  }[];
  readonly startupProbe: Probe;
  readonly readinessProbe: Probe;
  readonly livenessProbe: Probe;
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly string[] } } };
  readonly resources: { readonly limits: { readonly memory?: string } };
  readonly securityContext: object;
  readonly volumeMounts: readonly { readonly mountPath: string }[];
}

interface Pod {
  readonly containers: readonly [Container];
  readonly securityContext: object;
  readonly automountServiceAccountToken: boolean;
  readonly enableServiceLinks?: boolean;
  readonly terminationGracePeriodSeconds: number;
  readonly volumes: readonly object[];
}

/** As much of a Kubernetes object as the tests look at; which of it there is depends on its kind. */
export interface Manifest {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly data: Readonly<Record<string, string>>;
  readonly stringData: Readonly<Record<string, string>>;
  readonly spec: {
    readonly replicas?: number;
    readonly selector: { readonly matchLabels: object };
    readonly template: { readonly metadata: { readonly labels: object }; readonly spec: Pod };
    readonly ports: readonly { readonly targetPort: string }[];
    readonly scaleTargetRef: object;
    readonly minReplicas: number;
    readonly ingress?: readonly { readonly ports: object }[];
  };
}

export interface ComposeService {
  readonly build?: string;
  readonly image?: string;
  readonly networks?: readonly string[];
  readonly command: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly healthcheck: { readonly test: readonly string[] };
  readonly ports: readonly string[];
  readonly stop_grace_period: string;
}

export function readManifests(folder: string): readonly Manifest[] {
  return readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
    .flatMap((name) => Bun.YAML.parse(read(`${folder}/${name}`)) as Manifest | Manifest[]);
}

export function readCompose(): readonly [string, ComposeService][] {
  const { services } = Bun.YAML.parse(read('compose.yaml')) as { services: Record<string, ComposeService> };
  return Object.entries(services);
}
