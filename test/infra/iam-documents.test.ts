import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { IAM_FOLDER, iamDocuments } from '../../infra/iam-documents.ts';

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
