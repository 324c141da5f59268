import { expect, it } from 'vitest';
import { shownSettings } from '../../../src/open/shown-settings.ts';

const KEY = Buffer.alloc(32, 7).toString('base64');

it('the settings of a tenant are shown without a root key, credentials, or what lies under a mistyped name', () => {
  const given = {
    rootKey: ['aws-kms:arn', 'vault:https://v/transit/keys/k', KEY, 'half a key', { key: KEY }],
    rootkey: KEY,
    limits: { files: 3 },
    mounts: [
      { at: '/memories/x', tenant: 'org', rootKey: KEY, credentials: { secretAccessKey: KEY }, rootkey: KEY },
    ],
    'limits.fileBytes': 10,
    'rootKey.0': KEY,
    'root.key': KEY,
  };
  const shown = shownSettings(given);
  expect(shown).toEqual({
    rootKey: ['aws-kms:arn', 'vault:https://v/transit/keys/k', '(a key of 32 bytes)', '(hidden)', '(hidden)'],
    rootkey: '(no setting)',
    limits: { files: 3 },
    mounts: [
      {
        at: '/memories/x',
        tenant: 'org',
        rootKey: '(a key of 32 bytes)',
        credentials: '(hidden)',
        rootkey: '(hidden)',
      },
    ],
    'limits.fileBytes': 10,
    'rootKey.0': '(a key of 32 bytes)',
    'root.key': '(no setting)',
  });
  expect(shownSettings({ mounts: KEY, rootKey: Number.NaN })).toEqual({
    mounts: '(hidden)',
    rootKey: '(hidden)',
  });
});
