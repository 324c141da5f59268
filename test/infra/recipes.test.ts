import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseTurnText } from '../../src/worker/turn/turn-message.ts';
import { createNewcomer, type Newcomer } from '../docs/newcomer.ts';
import { blocksOf } from '../docs/pages.ts';

type Properties = Readonly<Record<string, unknown>>;

/** Words of the block of each stack. */
const STACKS = ['RESPONSE_STREAM', 'ScheduleExpression', 'turn.asl.json', 'SLACK_TEAMS'] as const;

/** The stacks of docs/recipes.md, synthesized as they stand there, in one process. Functions are not bundled. */
describe('a stack of docs/recipes.md', { timeout: 120_000 }, () => {
  let newcomer: Newcomer;
  beforeAll(async () => {
    newcomer = createNewcomer();
    for (const name of ['examples', 'package.json', 'package-lock.json', 'src']) {
      symlinkSync(resolve(name), join(newcomer.folder, name));
    }
    mkdirSync(join(newcomer.folder, 'bundle'));
    writeFileSync(join(newcomer.folder, 'bundle/index.mjs'), 'export const handler = () => {};\n');
    const steps = STACKS.map((words) => {
      newcomer.save(`${words}.mts`, bundled(words));
      // An app takes its folder when it is made, and is synthesized into it when the process ends.
      return `process.env.CDK_OUTDIR = 'out/${words}';\nawait import('./${words}.mts');\n`;
    });
    writeFileSync(join(newcomer.folder, 'apps.mjs'), steps.join(''));
    const settings = { CDK_CONTEXT_JSON: '{"aws:cdk:bundling-stacks":[]}' };
    expect(await newcomer.type('node apps.mjs', settings)).toMatchObject({ code: 0, stderr: '' });
  }, 120_000);
  afterAll(() => newcomer.leave());

  /** The resources of a type in the stack whose block has these words. */
  function stackOf(words: (typeof STACKS)[number]): (type: string) => readonly Properties[] {
    const file = join(newcomer.folder, 'out', words, 'Assistant.template.json');
    const template = JSON.parse(readFileSync(file, 'utf8'));
    const resources: readonly { readonly Type: string; readonly Properties: Properties }[] = Object.values(
      template.Resources,
    );
    return (type) => resources.filter(({ Type }) => Type === type).map(({ Properties }) => Properties);
  }

  it('has a function URL that streams, and a role that becomes one tenant at a time', () => {
    const of = stackOf('RESPONSE_STREAM');
    expect(of('AWS::Lambda::Url')).toEqual([
      expect.objectContaining({
        AuthType: 'NONE',
        InvokeMode: 'RESPONSE_STREAM',
        Cors: expect.objectContaining({ AllowOrigins: ['https://app.example'] }),
      }),
    ]);
    const trust = of('AWS::IAM::Role').filter((role) => JSON.stringify(role).includes('OneTenantPerSession'));
    expect(JSON.stringify(trust)).toMatch(/"StreamRole\w+","Arn"/);
  });

  it('sends one turn for each firing of a schedule, whatever the attempt', () => {
    const of = stackOf('ScheduleExpression');
    const [schedule] = of('AWS::Scheduler::Schedule');
    const { Input } = Object(schedule?.['Target']) as { readonly Input: string };
    expect(Input).not.toMatch(/<aws\.scheduler\.(execution-id|attempt-number)>/);
    const fired = Input.replaceAll('<aws.scheduler.scheduled-time>', '2026-03-02T07:00:00Z');
    expect(parseTurnText(fired)).toMatchObject({ tenant: 'acme', turn: 'morning/2026-03-02T07:00:00Z' });
    const sender = of('AWS::IAM::Policy').filter((policy) =>
      JSON.stringify(policy).includes('SchedulerRole'),
    );
    expect(JSON.stringify(sender)).toMatch(/sqs:SendMessage.*kms:GenerateDataKey/);
  });

  it('has a state machine that may invoke the worker', () => {
    const of = stackOf('turn.asl.json');
    const [machine] = of('AWS::StepFunctions::StateMachine');
    expect(machine?.['DefinitionSubstitutions']).toEqual({
      TurnFunction: { 'Fn::GetAtt': [expect.stringMatching(/Direct/), 'Arn'] },
    });
    const policies = of('AWS::IAM::Policy').map((policy) => JSON.stringify(policy));
    expect(policies.filter((policy) => /lambda:InvokeFunction.*TurnRole/.test(policy))).toHaveLength(1);
  });

  it('lets Slack call one function and gives the replies to another', () => {
    const of = stackOf('SLACK_TEAMS');
    expect(of('AWS::Lambda::Url')).toHaveLength(1);
    const sources = of('AWS::Lambda::EventSourceMapping').filter(({ FunctionName }) =>
      JSON.stringify(FunctionName).includes('SlackReplies'),
    );
    expect(sources).toMatchObject([{ BatchSize: 1, FunctionResponseTypes: ['ReportBatchItemFailures'] }]);
  });
});

/** The block that has these words, with a bundle that is there. */
function bundled(words: string): string {
  const [block] = blocksOf('docs/recipes.md', 'ts').filter(({ text }) => text.includes(words));
  const named = block?.text.replace(
    /(new SealedMemory\(stack, 'Memory')(?:, \{)?/,
    "$1, { bundle: './bundle',",
  );
  return named?.replace("bundle: './bundle',)", "bundle: './bundle' })") ?? '';
}
