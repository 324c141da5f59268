import { type Checker, type CheckResult, CheckStatus } from '@stryker-mutator/api/check';
import type { Mutant } from '@stryker-mutator/api/core';
import { declareClassPlugin, declareValuePlugin, PluginKind } from '@stryker-mutator/api/plugin';
import type { Reporter } from '@stryker-mutator/api/report';
import { handedOver, isDrawn } from './draw.ts';

/** The part of Babel's path that is looked at here. */
interface SyntaxPath {
  readonly node: { readonly type: string };
  readonly parentPath: SyntaxPath | null;
}

interface Call {
  readonly type: string;
  readonly callee?: { readonly type: string; readonly name?: string };
}

/** The kinds of syntax whose inside acts when it is called. */
const RUNS_LATER = /Function|Method|^Class/;

/** Makers of errors, by the names that they have in `src`. */
const MAKES_AN_ERROR = /Error$|^(?:misconfigured|refuse|refused|refusedArgument)$/;

/** Begins the reason for which Stryker leaves out what acts while a module is loaded; ours begins the same. */
export const LOADED = 'Static mutant';

/** The mutants that the run has seen so far; read also when the time is over. */
export const progress: { planned: readonly Mutant[]; tested: Mutant[] } = { planned: [], tested: [] };

class Collector implements Reporter {
  readonly onMutationTestingPlanReady: NonNullable<Reporter['onMutationTestingPlanReady']> = ({
    mutantPlans,
  }) => {
    progress.planned = mutantPlans.map(({ mutant }) => mutant);
  };

  readonly onMutantTested: NonNullable<Reporter['onMutantTested']> = (result) => {
    progress.tested.push(result);
  };
}

/** Lets the tests run against the mutants of the draw alone, as Stryker lets a checker turn down what does not compile. */
class DrawChecker implements Checker {
  init(): Promise<void> {
    return Promise.resolve();
  }

  check(mutants: readonly Mutant[]): Promise<Record<string, CheckResult>> {
    const draw = handedOver();
    const results = mutants.map((mutant): [string, CheckResult] => [
      mutant.id,
      draw === undefined || isDrawn(draw, mutant)
        ? { status: CheckStatus.Passed }
        : { status: CheckStatus.CompileError, reason: 'not drawn' },
    ]);
    return Promise.resolve(Object.fromEntries(results));
  }

  group(mutants: readonly Mutant[]): Promise<string[][]> {
    return Promise.resolve([mutants.map(({ id }) => id)]);
  }
}

/**
 * Stryker's plugins: no mutants in the words of an error's message, none outside of functions unless they are asked for,
 * a draw, and a list of results while they come.
 */
export const strykerPlugins = [
  declareValuePlugin(PluginKind.Ignore, 'messages', {
    shouldIgnore: (path) =>
      isText(path as SyntaxPath) && standsInError(path as SyntaxPath) ? 'the words of a message' : undefined,
  }),
  declareValuePlugin(PluginKind.Ignore, 'loaded', {
    shouldIgnore: (path) =>
      isOutsideFunctions(path as SyntaxPath) ? `${LOADED}: it acts before any test begins` : undefined,
  }),
  declareClassPlugin(PluginKind.Checker, 'draw', DrawChecker),
  declareClassPlugin(PluginKind.Reporter, 'collector', Collector),
];

/**
 * Tells whether the mutant acts while its module is loaded. Where a test is the first to need that module, Stryker
 * would take the mutant for one of this test alone, and put it in place once the module is there already.
 */
function isOutsideFunctions({ node, parentPath }: SyntaxPath): boolean {
  for (let above = parentPath; above !== null; above = above.parentPath) {
    if (RUNS_LATER.test(above.node.type)) return false;
  }
  return !holdsFunction(node);
}

function holdsFunction(node: object): boolean {
  if ('type' in node && RUNS_LATER.test(String(node.type))) return true;
  return Object.entries(node).some(
    ([name, part]) => !name.endsWith('Comments') && part instanceof Object && holdsFunction(part),
  );
}

function isText({ node }: SyntaxPath): boolean {
  return node.type === 'StringLiteral' || node.type === 'TemplateLiteral';
}

/** Tells whether an error is made of it; a code, which is one word, is no message. */
function standsInError(path: SyntaxPath): boolean {
  const { value } = path.node as { readonly value?: string };
  if (value !== undefined && !value.includes(' ')) return false;
  for (let above = path.parentPath; above !== null; above = above.parentPath) {
    const { type, callee } = above.node as Call;
    if (type === 'NewExpression' || type === 'CallExpression') return MAKES_AN_ERROR.test(callee?.name ?? '');
    if (/Function|Statement/.test(type)) return false;
  }
  return false;
}
