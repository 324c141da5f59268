import others from './oldest/package.json' with { type: 'json' };
import zod41 from './oldest-zod-4.1/package.json' with { type: 'json' };

interface Oldest {
  readonly folder: string;
  /** Exact versions: peers, and what their suites need beside them. */
  readonly dependencies: Readonly<Record<string, string>>;
}

/**
 * The packages that package.json lets in as peers, each in its oldest version. AI SDK, LangChain and Mastra refuse the
 * oldest zod through packages of their own, so they lie in a project apart.
 */
export const OLDEST: readonly Oldest[] = [
  { folder: 'test/peers/oldest', dependencies: others.dependencies },
  { folder: 'test/peers/oldest-zod-4.1', dependencies: zod41.dependencies },
];
