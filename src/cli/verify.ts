import type { KeyVersionUse } from '../admin/key-status.ts';
import type { Verification } from '../admin/verify.ts';
import { optionsFromEnvironment } from '../open/environment.ts';
import { openTenant } from '../open/open-memory.ts';
import { isLeft } from '../tree/findings.ts';
import { counted } from './admin-command.ts';
import { findingLine } from './finding-lines.ts';
import { createOperatorLogger, EXIT_FAILED, type Invocation } from './terminal.ts';

interface VerifyRequest {
  readonly repair: boolean;
  readonly json: boolean;
}

/** Verifies the configured memory and says what to do about each finding. Resolves to 0 when none is left. */
export async function runVerify(request: VerifyRequest, invocation: Invocation): Promise<number> {
  const { terminal, signal } = invocation;
  const logger = createOperatorLogger(terminal.complain);
  const { parts, close } = await openTenant(optionsFromEnvironment(undefined, { logger }));
  try {
    const verification = await parts.verify({
      repair: request.repair,
      signal,
      onProgress: terminal.progress,
    });
    await terminal.out(request.json ? toJson(verification) : `${linesOf(verification).join('\n')}\n`);
    return verification.findings.some(isLeft) ? EXIT_FAILED : 0;
  } finally {
    terminal.progress({ done: 0, total: 0 });
    await close();
  }
}

/** One line for each finding, one for the tenant keys in use, then one that sums up. */
export function linesOf(verification: Verification): readonly string[] {
  const { files, bytes, findings, keyVersions } = verification;
  const left = findings.filter(isLeft).length;
  const repaired = findings.length - left;
  const verdict = [
    left === 0 ? 'all well' : `${counted(left, 'finding')} left`,
    ...(repaired > 0 ? [`${repaired} repaired`] : []),
  ].join(', ');
  const summary = `${counted(files, 'file')}, ${counted(bytes, 'byte')}: ${verdict}`;
  const keys = keyVersions.length === 0 ? [] : [`keys  ${keyVersions.map(keyWords).join(', ')}`];
  return [
    ...findings.map((finding) => findingLine(finding)),
    ...keys,
    `${left === 0 ? 'ok    ' : 'FAIL  '}${summary}`,
  ];
}

function keyWords({ version, objects, active }: KeyVersionUse): string {
  return `version ${version}${active ? ', active' : ''}: ${counted(objects, 'object')}`;
}

function toJson({ files, bytes, findings, keyVersions }: Verification): string {
  const left = findings.filter(isLeft).length;
  const repaired = findings.length - left;
  return `${JSON.stringify({ files, bytes, left, repaired, keyVersions, findings })}\n`;
}
