import { beforeEach, expect, it } from 'vitest';
import { readKeyStatus } from '../../../../src/admin/keys/key-status.ts';
import { readKeyringFacts, retireKeys } from '../../../../src/admin/keys/retire-keys.ts';
import { readRootKeyStatus } from '../../../../src/admin/keys/root-key-status.ts';
import { rewrapRoot, rotateKey } from '../../../../src/admin/keys/rotate.ts';
import { turnTenantHistory } from '../../../../src/admin/keys/turn-history.ts';
import type { Keyring } from '../../../../src/format/keyring-bytes.ts';
import { envRootKey } from '../../../../src/keys/env-root-key.ts';
import type { KeyringEditor } from '../../../../src/keys/keyring-editor.ts';
import { createOperator, type KeyOperator } from '../../../stage/key-operator.ts';
import { inTime, openSite, TEST_ROOT_KEY, type TestSite } from '../../../stage/test-tree.ts';

let site: TestSite;
let operator: KeyOperator;

beforeEach(async () => {
  site = await openSite();
  operator = await createOperator(site);
  await operator.rotate();
});

/** The editor, which notes each keyring that it hands out. */
function noting(editor: KeyringEditor): { readonly noted: KeyringEditor; readonly seen: Keyring[] } {
  const seen: Keyring[] = [];
  const noted: KeyringEditor = {
    ...editor,
    async read(request) {
      const record = await editor.read(request);
      if (record !== undefined) seen.push(record.keyring);
      return record;
    },
    async inspect(request) {
      const found = await editor.inspect(request);
      if (found.state === 'open') seen.push(found.record.keyring);
      return found;
    },
    async change(decide, request) {
      const changed = await editor.change(decide, request);
      seen.push(changed.record.keyring);
      return changed;
    },
  };
  return { noted, seen };
}

it.each<readonly [string, (editor: KeyringEditor) => Promise<unknown>]>([
  ['a rotation', (editor) => rotateKey({ editor, clock: site.time.clock, random: site.time.randomBytes })],
  ['a new root key', (editor) => rewrapRoot({ editor, rootKeys: roots() }, { force: true })],
  ['turning history', (editor) => turnTenantHistory({ editor, stamps: inTime(site.time.clock) }, 'on')],
  ['the status of keys', (editor) => readKeyStatus({ editor, rootKeys: roots() })],
  ['the status of root keys', (editor) => readRootKeyStatus({ editor, rootKeys: roots() })],
  ['the facts of a keyring', (editor) => readKeyringFacts(editor, {})],
  [
    'retiring keys',
    async (editor) => {
      const facts = await readKeyringFacts(editor, {});
      return facts && retireKeys(editor, facts, { versions: [1] });
    },
  ],
])('%s leaves no secret of a keyring in memory', async (_, act) => {
  const { noted, seen } = noting(operator.editor);
  expect(await act(noted)).toBeDefined();
  const secrets = seen.flatMap(({ nameKey, tenantKeys }) => [
    nameKey,
    ...tenantKeys.flatMap(({ secret, wrapKey }) => [secret, wrapKey]),
  ]);
  expect(secrets.length).toBeGreaterThanOrEqual(3);
  expect(secrets.filter((bytes) => bytes.some((byte) => byte !== 0))).toEqual([]);
});

function roots() {
  return [envRootKey(TEST_ROOT_KEY)];
}
