import { randomBytes } from 'node:crypto';
import { openMemory } from 'sealed-memory';
import type {
  Evidence,
  Feature,
  ProgressEntry,
  ProjectOptions,
  ProjectPlan,
  ProjectState,
} from 'sealed-memory/agent';
import { bootstrapProject, completeFeature, logProgress, readProject } from 'sealed-memory/agent';

await using memory = await openMemory({ store: 'memory:', tenant: 'acme', rootKey: randomBytes(32) });
const project: ProjectOptions = { memory, directory: '/memories/shop' };
const plan: ProjectPlan = {
  summary: 'A shop for bread.',
  features: ['Sign in', 'Order a loaf'],
  startScript: './init.sh',
};
await bootstrapProject({ ...project, ...plan });
const { briefing, current }: ProjectState = await readProject(project);
console.log(briefing);

// … turns: `briefing` belongs into the first message
const evidence: Evidence = { check: 'npm run e2e -- sign-in', result: '12 of 12 passed' };
const next: Feature | undefined = await completeFeature({
  ...project,
  feature: current?.title ?? '',
  evidence,
});
const entry: ProgressEntry = { done: ['Sign in works'], next: [next?.title ?? 'Nothing'] };
await logProgress({ ...project, ...entry });
