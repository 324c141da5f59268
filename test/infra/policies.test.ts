import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { IAM_FOLDER, iamDocuments } from '../../infra/iam-documents.ts';
import { onlyResource } from './iam/template.ts';
import { synthesize } from './synthesized.ts';

/*
 * The policies of the template stand in docs/iam, where a change of one is seen as a change of its file. What they allow
 * and deny is asked of a simulator of IAM in tenant-role.test.ts and tenant-isolation.test.ts.
 */

const template = synthesize({
  prefix: 'memories',
  operatorRoleArns: 'arn:aws:iam::111122223333:role/operator',
});
const resources = Object.values(template.Resources);

function statementsOf(type: string, name: string, member: string): readonly unknown[] {
  const document = onlyResource(template, type, name).properties[member];
  return (document as { readonly Statement: readonly unknown[] }).Statement;
}

describe('the policies in docs/iam', { timeout: 60_000 }, () => {
  it('are those of the template; npm run write iam writes them', async () => {
    const documents = await iamDocuments();
    expect(readdirSync(IAM_FOLDER).sort()).toEqual([...documents.keys()].sort());
    for (const [name, text] of documents) {
      const written: unknown = JSON.parse(readFileSync(join(IAM_FOLDER, name), 'utf8'));
      expect(written, name).toEqual(JSON.parse(text));
    }
  });

  it('name resources in angle brackets, and nothing of the CDK', async () => {
    for (const [name, text] of await iamDocuments()) {
      expect(JSON.parse(text), name).toMatchObject({ Version: '2012-10-17' });
      expect(text, name).not.toMatch(/Fn::|"Ref"|Memory[A-Z]/);
    }
  });
});

describe('the permissions', () => {
  it('are attached to three roles alone, which have no others', () => {
    expect(resources.filter(({ Type }) => Type === 'AWS::IAM::Policy')).toHaveLength(3);
    const roles = resources.filter(({ Type }) => Type === 'AWS::IAM::Role');
    expect(roles).toHaveLength(3);
    for (const { Properties } of roles) {
      expect(Object.keys(Properties)).not.toContain('ManagedPolicyArns');
      expect(Object.keys(Properties)).not.toContain('Policies');
    }
  });

  it.each(['MemoryWorkerRole', 'MemoryExpiryRole'])('of %s are had by functions of Lambda alone', (role) => {
    expect(statementsOf('AWS::IAM::Role', role, 'AssumeRolePolicyDocument')).toEqual([
      { Effect: 'Allow', Action: 'sts:AssumeRole', Principal: { Service: 'lambda.amazonaws.com' } },
    ]);
  });

  it('to become a tenant fit into what IAM lets a trust policy measure, with room for a few operators more', () => {
    const trust = statementsOf('AWS::IAM::Role', 'MemoryTenantRole', 'AssumeRolePolicyDocument');
    expect(trust).toHaveLength(1);
    expect(JSON.stringify(trust[0]).length).toBeLessThan(1_400);
  });

  it.each(['MemoryRootKey', 'MemoryQueueKey'])('to administer %s hold no use of the key', (key) => {
    const [administration] = statementsOf('AWS::KMS::Key', key, 'KeyPolicy');
    expect(administration).toMatchObject({ Sid: 'AccountAdministers' });
    const { Action: actions } = administration as { readonly Action: readonly string[] };
    expect(
      actions.filter((action) => /\*|crypt|DataKey|Grant$|Sign|Mac|Replicate|Import/.test(action)),
    ).toEqual(['kms:RetireGrant', 'kms:RevokeGrant']);
  });
});

it.each(['Turns', 'DeadLetters', 'Replies', 'ExpiryQueue'])('the queue %s wants TLS', (name) => {
  expect(statementsOf('AWS::SQS::QueuePolicy', `Memory${name}Policy`, 'PolicyDocument')).toEqual([
    {
      Effect: 'Deny',
      Principal: { AWS: '*' },
      Action: 'sqs:*',
      Resource: expect.stringMatching(new RegExp(`:Memory${name}[0-9A-F]{8}$`)),
      Condition: { Bool: { 'aws:SecureTransport': 'false' } },
    },
  ]);
});
