import { describe, expect, it } from 'vitest';
import { isNotRun } from '../runner/not-run.ts';
import { findCfnLint } from './cfn-lint.ts';
import { synthesizeText } from './synthesized.ts';

const linter = await findCfnLint(process.env);
const isMissing = isNotRun('cfn-lint', linter);

const EVERYTHING = {
  prefix: 'memories',
  fifo: 'true',
  direct: 'true',
  expireAfterDays: '90',
  alarmTopicArn: 'arn:aws:sns:eu-central-1:111122223333:alarms',
  operatorRoleArns: 'arn:aws:iam::111122223333:role/operator',
  tenantSettings: 'true',
  customerKeyArns: 'arn:aws:kms:*:444455556666:key/*',
  formerRootKeyArns: 'arn:aws:kms:eu-central-1:111122223333:key/11111111-2222-3333-4444-555555555555',
};

describe.skipIf(isMissing)('cfn-lint', { timeout: 60_000 }, () => {
  async function lint(template: string): Promise<readonly string[]> {
    if ('reason' in linter) throw new Error(linter.reason);
    return linter.lint(template);
  }

  it.each([{}, EVERYTHING])('finds nothing in the template with the settings %j', async (settings) => {
    expect(await lint(synthesizeText(settings))).toEqual([]);
  });

  it('finds what is wrong', async () => {
    const template = synthesizeText().replace('"nodejs24.x"', '"nodejs2.x"');
    expect(await lint(template)).toEqual([expect.stringMatching(/E3030|W2531|nodejs2\.x/)]);
  });
});
