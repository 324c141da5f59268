import { type ConditionBlock, parseConditions } from './conditions.ts';

/** A statement of a policy, with every list written out. */
export interface Statement {
  readonly sid: string | undefined;
  readonly effect: 'Allow' | 'Deny';
  /** Absent in a policy of an identity. */
  readonly principal: PrincipalElement | undefined;
  readonly actions: readonly string[];
  /** Absent in a trust policy, which speaks of its own role. */
  readonly resources: ResourceElement | undefined;
  readonly conditions: readonly ConditionBlock[];
}

export interface PrincipalElement {
  readonly kind: 'AWS' | 'Service';
  readonly values: readonly string[];
}

export interface ResourceElement {
  /** The statement is about everything but these. */
  readonly not: boolean;
  readonly patterns: readonly string[];
}

const MEMBERS = ['Sid', 'Effect', 'Principal', 'Action', 'Resource', 'NotResource', 'Condition'];

/** @throws Error for anything in a policy that the simulator does not judge. */
export function parsePolicy(document: unknown): readonly Statement[] {
  const { Version, Statement: statements, ...rest } = members(document, 'policy');
  if (Version !== '2012-10-17') throw new Error('a policy of another version has no variables');
  if (Object.keys(rest).length > 0) throw new Error(`unknown in a policy: ${Object.keys(rest)}`);
  if (!Array.isArray(statements)) throw new Error('a policy without a list of statements');
  const parsed = statements.map(parseStatement);
  const sids = parsed.flatMap(({ sid }) => sid ?? []);
  if (new Set(sids).size !== sids.length) throw new Error('two statements of a policy have the same Sid');
  return parsed;
}

function parseStatement(value: unknown): Statement {
  const statement = members(value, 'statement');
  const unknown = Object.keys(statement).filter((name) => !MEMBERS.includes(name));
  if (unknown.length > 0) throw new Error(`unknown in a statement: ${unknown}`);
  const { Sid, Effect, Principal, Action, Resource, NotResource, Condition } = statement;
  if (Effect !== 'Allow' && Effect !== 'Deny') throw new Error(`unknown effect: ${Effect}`);
  if (Sid !== undefined && typeof Sid !== 'string') throw new Error('a Sid must be a text');
  if (Resource !== undefined && NotResource !== undefined) {
    throw new Error('a statement has either Resource or NotResource');
  }
  return {
    sid: Sid,
    effect: Effect,
    principal: Principal === undefined ? undefined : parsePrincipal(Principal),
    actions: texts(Action, 'Action').map((action) => {
      if (action !== '*' && !/^[a-z0-9-]+:[A-Za-z*]+$/.test(action)) {
        throw new Error(`not an action: ${action}`);
      }
      return action;
    }),
    resources: parseResources(Resource, NotResource),
    conditions: Condition === undefined ? [] : parseConditions(members(Condition, 'Condition')),
  };
}

function parsePrincipal(value: unknown): PrincipalElement {
  const entries = Object.entries(members(value, 'Principal'));
  const [kind, values] = entries[0] ?? [];
  if (entries.length !== 1 || (kind !== 'AWS' && kind !== 'Service')) {
    throw new Error(`unknown principal: ${JSON.stringify(value)}`);
  }
  return { kind, values: texts(values, 'Principal') };
}

function parseResources(resource: unknown, notResource: unknown): ResourceElement | undefined {
  if (notResource !== undefined) return { not: true, patterns: texts(notResource, 'NotResource') };
  if (resource !== undefined) return { not: false, patterns: texts(resource, 'Resource') };
  return undefined;
}

function members(value: unknown, what: string): Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error(`a ${what} must be an object`);
  }
  return value as Readonly<Record<string, unknown>>;
}

function texts(value: unknown, what: string): readonly string[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length === 0) throw new Error(`${what} is empty`);
  return list.map((each) => {
    if (typeof each !== 'string') throw new Error(`${what} must hold texts`);
    return each;
  });
}
