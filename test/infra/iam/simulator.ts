import { type Context, conditionsHold } from './conditions.ts';
import { matchesAction, matchesPattern, substitute } from './patterns.ts';
import type { PrincipalElement, ResourceElement, Statement } from './policy.ts';

export interface IamRequest {
  /** The role whose session asks. */
  readonly roleArn: string;
  readonly action: string;
  readonly resource: string;
  readonly context: Context;
}

/** Who may say yes, in one account. */
export interface Policies {
  readonly identity: readonly Statement[];
  readonly resource: readonly Statement[];
  /**
   * Keys and roles: a policy of the identity counts only where the resource's own policy leaves it to the account.
   * Buckets and queues: either is enough.
   */
  readonly resourceDecides: boolean;
}

export type Verdict = 'allowed' | 'denied' | 'not allowed';

/**
 * Answers what AWS would answer, by the documented order: an explicit deny, then an allow, else no. Where the documents
 * leave it open, it answers what is worse for the owner: a deny with an undefined variable does not count.
 *
 * @throws Error for what it does not know.
 */
export function judge(request: IamRequest, policies: Policies): Verdict {
  const identity = policies.identity.filter((statement) => {
    if (statement.principal !== undefined) throw new Error('a policy of an identity names no principal');
    if (statement.resources === undefined) throw new Error('a policy of an identity names its resources');
    return applies(statement, request);
  });
  const own = policies.resource.filter((statement) => {
    if (statement.principal === undefined) throw new Error('a policy of a resource names its principals');
    return applies(statement, request);
  });
  const direct = own.filter(({ principal }) => principal && names(principal, request.roleArn));
  if ([...identity, ...direct].some(({ effect }) => effect === 'Deny')) return 'denied';
  if (direct.length > 0) return 'allowed';
  const left = own.some(({ effect, principal }) => {
    const root = principal !== undefined && names(principal, accountOf(request.roleArn));
    if (root && effect === 'Deny') throw new Error('a deny for the account alone is not judged');
    return root;
  });
  return identity.length > 0 && (left || !policies.resourceDecides) ? 'allowed' : 'not allowed';
}

function applies({ actions, resources, conditions }: Statement, request: IamRequest): boolean {
  return (
    actions.some((pattern) => matchesAction(request.action, pattern)) &&
    (resources === undefined || covers(resources, request)) &&
    conditionsHold(conditions, request.context) === true
  );
}

function covers({ not, patterns }: ResourceElement, { resource, context }: IamRequest): boolean {
  const expected = patterns.map((pattern) => substitute(pattern, context));
  if (not && expected.includes(undefined)) return false;
  return expected.some((pattern) => pattern !== undefined && matchesPattern(resource, pattern)) !== not;
}

function names({ kind, values }: PrincipalElement, arn: string): boolean {
  return kind === 'AWS' && values.some((value) => value === '*' || value === arn);
}

/** The account as a principal. */
function accountOf(roleArn: string): string {
  const match = /^(arn:aws:iam::\d{12}:)role\//.exec(roleArn);
  if (match === null) throw new Error(`not a role: ${roleArn}`);
  return `${match[1]}root`;
}
