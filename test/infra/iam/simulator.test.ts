import { describe, expect, it } from 'vitest';
import { matchesAction, matchesPattern } from './patterns.ts';
import { parsePolicy } from './policy.ts';
import { judge, type Verdict } from './simulator.ts';

type Json = Readonly<Record<string, unknown>>;

const ROLE = 'arn:aws:iam::111122223333:role/reader';
const ROOT = 'arn:aws:iam::111122223333:root';
const TAG = '$' + '{aws:PrincipalTag/tenant}';
const policy = (...statements: readonly Json[]) =>
  parsePolicy({ Version: '2012-10-17', Statement: statements });
const allow = (more: Json = {}) => ({ Effect: 'Allow', Action: 's3:GetObject', Resource: '*', ...more });
const deny = (more: Json = {}) => ({ ...allow(more), Effect: 'Deny' });

function ask({
  identity = [],
  resource = [],
  context = {},
  resourceDecides = false,
  target = 'arn:aws:s3:::bucket/key',
}: {
  readonly identity?: readonly Json[];
  readonly resource?: readonly Json[];
  readonly context?: Readonly<Record<string, readonly string[]>>;
  readonly resourceDecides?: boolean;
  readonly target?: string;
}): Verdict {
  return judge(
    { roleArn: ROLE, action: 's3:GetObject', resource: target, context: new Map(Object.entries(context)) },
    { identity: policy(...identity), resource: policy(...resource), resourceDecides },
  );
}

describe('a verdict', () => {
  it('is no, unless something allows and nothing denies', () => {
    expect(ask({})).toBe('not allowed');
    expect(ask({ identity: [allow()] })).toBe('allowed');
    expect(ask({ identity: [allow(), deny()] })).toBe('denied');
    expect(ask({ identity: [allow()], resource: [deny({ Principal: { AWS: '*' } })] })).toBe('denied');
    expect(ask({ identity: [allow({ Action: 's3:PutObject' })] })).toBe('not allowed');
  });

  it('takes the word of the resource, for who is named', () => {
    expect(ask({ resource: [allow({ Principal: { AWS: ROLE } })] })).toBe('allowed');
    expect(ask({ resource: [allow({ Principal: { AWS: `${ROLE}2` } })] })).toBe('not allowed');
    expect(ask({ resource: [allow({ Principal: { Service: 's3.amazonaws.com' } })] })).toBe('not allowed');
  });

  it('asks the identity where the resource leaves it to the account', () => {
    const account = [allow({ Principal: { AWS: ROOT } })];
    expect(ask({ resource: account, resourceDecides: true })).toBe('not allowed');
    expect(ask({ resource: account, identity: [allow()], resourceDecides: true })).toBe('allowed');
    expect(ask({ identity: [allow()], resourceDecides: true })).toBe('not allowed');
  });

  it('follows variables, and never one that is not defined', () => {
    const own = { identity: [allow({ Resource: `arn:aws:s3:::bucket/${TAG}/*` })] };
    const context = { 'aws:principaltag/tenant': ['acme'] };
    expect(ask({ ...own, context, target: 'arn:aws:s3:::bucket/acme/x' })).toBe('allowed');
    expect(ask({ ...own, context, target: 'arn:aws:s3:::bucket/acme2/x' })).toBe('not allowed');
    expect(ask({ ...own, target: 'arn:aws:s3:::bucket//x' })).toBe('not allowed');
  });

  it('does not count a deny with a variable that is not defined', () => {
    const identity = [allow(), { Effect: 'Deny', Action: '*', NotResource: `arn:aws:s3:::bucket/${TAG}` }];
    expect(ask({ identity })).toBe('allowed');
    expect(ask({ identity, context: { 'aws:principaltag/tenant': ['acme'] } })).toBe('denied');
  });
});

describe('a condition', () => {
  const holds = (condition: Json, context: Readonly<Record<string, readonly string[]>> = {}) =>
    ask({ identity: [allow({ Condition: condition })], context }) === 'allowed';

  it.each<readonly [Json, readonly string[] | undefined, boolean]>([
    [{ StringEquals: { 's3:prefix': ['a', 'b'] } }, ['b'], true],
    [{ StringEquals: { 's3:prefix': 'a*' } }, ['ab'], false],
    [{ StringEquals: { 's3:prefix': 'a' } }, undefined, false],
    [{ StringNotEquals: { 's3:prefix': ['a', 'b'] } }, ['b'], false],
    [{ StringNotEquals: { 's3:prefix': ['a', 'b'] } }, ['c'], true],
    [{ StringNotEquals: { 's3:prefix': 'a' } }, undefined, true],
    [{ StringLike: { 's3:prefix': 'a?/*' } }, ['ab/c/d'], true],
    [{ StringLike: { 's3:prefix': 'a?/*' } }, ['a/c'], false],
    [{ StringNotLike: { 's3:prefix': ['a*', 'b*'] } }, ['bc'], false],
    [{ StringNotLike: { 's3:prefix': ['a*', 'b*'] } }, undefined, true],
    [{ Null: { 's3:prefix': 'true' } }, undefined, true],
    [{ Null: { 's3:prefix': 'true' } }, [''], false],
    [{ Null: { 's3:prefix': 'false' } }, [''], true],
    [{ StringLike: { 's3:prefix': '*' }, Null: { 's3:if-match': 'false' } }, ['x'], false],
  ])('%j of the prefix %j is %s', (condition, prefix, expected) => {
    expect(holds(condition, prefix === undefined ? {} : { 's3:prefix': prefix })).toBe(expected);
  });

  it.each<readonly [string, readonly string[] | undefined, boolean]>([
    ['ForAllValues:StringEquals', ['a', 'b'], true],
    ['ForAllValues:StringEquals', ['a', 'c'], false],
    ['ForAllValues:StringEquals', undefined, true],
    ['ForAnyValue:StringEquals', ['a', 'c'], true],
    ['ForAnyValue:StringEquals', ['c'], false],
    ['ForAnyValue:StringEquals', undefined, false],
  ])('%s of the list %j is %s', (operator, keys, expected) => {
    const condition = { [operator]: { 'aws:TagKeys': ['a', 'b'] } };
    expect(holds(condition, keys === undefined ? {} : { 'aws:tagkeys': keys })).toBe(expected);
  });

  it('compares flags and numbers', () => {
    expect(holds({ Bool: { 'aws:SecureTransport': 'true' } }, { 'aws:securetransport': ['true'] })).toBe(
      true,
    );
    expect(holds({ Bool: { 'aws:SecureTransport': 'true' } })).toBe(false);
    expect(holds({ NumericLessThan: { 's3:TlsVersion': 1.2 } }, { 's3:tlsversion': ['1.1'] })).toBe(true);
    expect(holds({ NumericLessThan: { 's3:TlsVersion': 1.2 } }, { 's3:tlsversion': ['1.2'] })).toBe(false);
  });
});

describe('a policy', () => {
  it.each<readonly [string, Json]>([
    ['an unknown operator', allow({ Condition: { StringEqualsIgnoreCase: { 's3:prefix': 'a' } } })],
    ['the suffix IfExists', allow({ Condition: { StringEqualsIfExists: { 's3:prefix': 'a' } } })],
    ['an unknown quantifier', allow({ Condition: { 'ForSome:StringEquals': { 'aws:TagKeys': 'a' } } })],
    ['a list without a quantifier', allow({ Condition: { StringEquals: { 'aws:TagKeys': 'a' } } })],
    [
      'one value with a quantifier',
      allow({ Condition: { 'ForAllValues:StringLike': { 's3:prefix': 'a' } } }),
    ],
    ['an unknown key', allow({ Condition: { StringEquals: { 'aws:SourceIp': 'a' } } })],
    ['NotAction', { Effect: 'Allow', NotAction: 's3:GetObject', Resource: '*' }],
    ['NotPrincipal', allow({ NotPrincipal: { AWS: ROLE } })],
    ['a federated principal', allow({ Principal: { Federated: 'x' } })],
    ['a bare principal', allow({ Principal: '*' })],
    ['another effect', { ...allow(), Effect: 'Audit' }],
    ['both kinds of resource', allow({ NotResource: '*' })],
    ['an intrinsic function', allow({ Resource: { Ref: 'Bucket' } })],
  ])('is refused for %s', (_, statement) => {
    expect(() => policy(statement)).toThrow();
  });

  it('is refused for two statements of one Sid, and for another version', () => {
    expect(() => policy(allow({ Sid: 'A' }), allow({ Sid: 'A' }))).toThrow();
    expect(() => parsePolicy({ Version: '2008-10-17', Statement: [allow()] })).toThrow();
  });

  it('is refused when it is judged for a variable that is not known, or one that could act as a pattern', () => {
    expect(() => ask({ identity: [allow({ Resource: '$' + '{aws:username}' })] })).toThrow();
    expect(() =>
      ask({ identity: [allow({ Resource: TAG })], context: { 'aws:principaltag/tenant': ['*'] } }),
    ).toThrow();
  });
});

describe('a pattern', () => {
  it('takes its wildcards for text of any kind, and nothing else for more than itself', () => {
    expect(matchesPattern('arn:aws:s3:::b/a/b', 'arn:aws:s3:::b/*')).toBe(true);
    expect(matchesPattern('a.b', 'a?b')).toBe(true);
    expect(matchesPattern('axb', 'a.b')).toBe(false);
    expect(matchesPattern('aab', 'a+b')).toBe(false);
    expect(matchesPattern('xab', 'ab')).toBe(false);
    expect(matchesPattern('A', 'a')).toBe(false);
    expect(matchesAction('S3:getobject', 's3:Get*')).toBe(true);
  });
});
