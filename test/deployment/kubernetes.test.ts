import { describe, expect, test } from 'bun:test';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { readConfiguration } from '../../src/start/settings/configuration.ts';
import {
  documentedSecrets,
  imageEnvironment,
  KNOWN_NAMES,
  madeUp,
  ROOT,
  read,
  roleOf,
  statusOf,
} from './deployment-files.ts';
import { type Container, type Manifest, readManifests } from './manifests.ts';

const FOLDER = 'deploy/kubernetes';
const manifests = readManifests(FOLDER);
const ofKind = (kind: string) => manifests.filter((manifest) => manifest.kind === kind);
function named(kind: string, name: string): Manifest {
  const found = ofKind(kind).find(({ metadata }) => metadata.name === name);
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`);
  return found;
}
const workloads = [...ofKind('StatefulSet'), ...ofKind('Deployment')];
const running = [...workloads, ...ofKind('Job')];
const podOf = ({ spec }: Manifest) => spec.template.spec;
const containerOf = (workload: Manifest): Container => podOf(workload).containers[0];

/** What Kubernetes adds for every Service of the namespace, unless the pod says otherwise. */
function serviceLinks(workload: Manifest): Record<string, string> {
  if (podOf(workload).enableServiceLinks === false) return {};
  const names = ofKind('Service').map(({ metadata }) => metadata.name.toUpperCase().replaceAll('-', '_'));
  return Object.fromEntries(names.map((name) => [`${name}_PORT`, 'tcp://10.0.0.1:80']));
}

/** What the container finds: the image's own, those of Services, the settings, the secrets that it is given. */
function environmentOf(workload: Manifest): Record<string, string> {
  const { envFrom, env } = containerOf(workload);
  const found: Record<string, string> = { ...imageEnvironment(), ...serviceLinks(workload) };
  for (const { configMapRef } of envFrom) Object.assign(found, named('ConfigMap', configMapRef.name).data);
  for (const { name, value } of env) found[name] = value ?? madeUp(name);
  return found;
}

test('there are the three services, each with a way in, a budget and a scale of its own', () => {
  const names = workloads.map(({ metadata }) => metadata.name).sort();
  expect(names).toEqual(['ai-service', 'backend', 'gateway']);
  for (const workload of workloads) {
    const { name } = workload.metadata;
    const { labels } = workload.spec.template.metadata;
    expect(workload.spec.selector.matchLabels).toEqual(labels);
    expect(named('Service', name).spec.selector as object).toEqual(labels);
    expect(named('PodDisruptionBudget', name).spec.selector.matchLabels).toEqual(labels);
    const scale = named('HorizontalPodAutoscaler', name).spec;
    expect(scale.scaleTargetRef).toEqual({ apiVersion: 'apps/v1', kind: workload.kind, name });
    // With one alone a budget would either hold up every node's upgrade or protect nothing.
    expect(scale.minReplicas).toBeGreaterThan(1);
    // The autoscaler sets the number; set here too, every apply would reset it.
    expect(workload.spec.replicas).toBeUndefined();
  }
  expect(podOf(named('StatefulSet', 'gateway')).volumes).not.toContainEqual({
    name: 'data',
    emptyDir: {},
  });
});

describe.each(running.map((workload) => [workload.metadata.name, workload] as const))('%s', (_, workload) => {
  const container = containerOf(workload);
  const role = roleOf(container.command);
  const pod = podOf(workload);

  test('finds settings that it knows, of the right form, and no secret that it needs is missing', () => {
    for (const name of Object.keys(environmentOf(workload))) expect(KNOWN_NAMES).toContain(name);
    const configured = readConfiguration(role, environmentOf(workload));
    expect(configured).toMatchObject({ outcome: 'read' });
    const kept = Object.keys(named('Secret', 'turnpike-secrets').stringData);
    for (const { name, value, valueFrom } of container.env) {
      if (value !== undefined) {
        expect(documentedSecrets(role)).not.toContain(name);
        continue;
      }
      expect(valueFrom?.secretKeyRef).toMatchObject({ name: 'turnpike-secrets', key: name });
      expect(kept).toContain(name);
    }
    expect(existsSync(join(ROOT, container.command[1] ?? ''))).toBe(true);
  });

  test('runs as its own user and writes only to its volumes', () => {
    const user = Number(/^USER (\d+)/m.exec(read('Dockerfile'))?.[1]);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, runAsUser: user, fsGroup: user });
    expect(pod.automountServiceAccountToken).toBe(false);
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const mounted: (string | undefined)[] = container.volumeMounts.map(({ mountPath }) => mountPath);
    expect(mounted).toEqual([imageEnvironment().DATA_DIR, '/tmp']);
    expect(container.resources.limits.memory).toBeDefined();
  });
});

describe.each(workloads.map((workload) => [workload.metadata.name, workload] as const))(
  '%s',
  (name, workload) => {
    const container = containerOf(workload);
    const role = roleOf(container.command);

    test('listens where its probes and its service ask, and the routes are there', async () => {
      const read = readConfiguration(role, environmentOf(workload));
      const ports = read.outcome === 'read' ? read.configuration.ports : null;
      const own = role === 'ai-service' ? ports?.ai : ports?.[role as 'gateway' | 'backend'];
      expect(container.ports).toEqual([{ name: 'http', containerPort: own ?? 0 }]);
      expect(named('Service', name).spec.ports[0]?.targetPort).toBe('http');
      for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'] as const) {
        const { path, port } = container[probe].httpGet;
        expect([port, path, await statusOf(role, path)]).toEqual(['http', path, 200]);
      }
      expect(await statusOf(role, '/no-such-route')).toBe(404);
    });

    test('is given every secret that the documentation says it has', () => {
      const given = container.env.map((one) => one.name);
      const expected = documentedSecrets(role);
      expect(expected.length).toBeGreaterThan(4);
      expect(given).toEqual(expect.arrayContaining([...expected]));
      for (const secret of expected) {
        const second = `${secret}_ALSO`;
        if (KNOWN_NAMES.has(second)) expect(given).toContain(second);
      }
    });

    test('has time to end its calls: what is waited before the signal, the calls, and the settling', () => {
      const waits = Number(container.lifecycle.preStop.exec.command[1]);
      const ends = Number(environmentOf(workload).SHUTDOWN_TIMEOUT_MS) / 1_000;
      expect(podOf(workload).terminationGracePeriodSeconds).toBeGreaterThanOrEqual(waits + ends + 15);
    });
  },
);

test('the kustomization names every file but the example of the secrets', () => {
  const { resources } = Bun.YAML.parse(read(`${FOLDER}/kustomization.yaml`)) as { resources: string[] };
  const files = [...new Bun.Glob('*.yaml').scanSync(join(ROOT, FOLDER))].sort();
  const expected = [...resources, 'kustomization.yaml', 'secrets.example.yaml'].sort();
  expect(files).toEqual(expected);
});

test('the network lets in only to the ports that there are', () => {
  for (const { spec } of ofKind('NetworkPolicy')) {
    for (const { ports } of spec.ingress ?? []) expect(ports).toEqual([{ protocol: 'TCP', port: 'http' }]);
  }
  const all: object = named('NetworkPolicy', 'nothing-unnamed').spec;
  expect(all).toEqual({ podSelector: {}, policyTypes: ['Ingress', 'Egress'] });
});
