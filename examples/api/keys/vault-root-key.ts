// Only compiled: it asks a Vault.
import { openMemory } from 'sealed-memory';
import { type VaultRootKeyOptions, type VaultTokenOptions, vaultRootKey } from 'sealed-memory/keys';

const token: VaultTokenOptions = { tokenFile: '/run/secrets/vault-token' };
const options: VaultRootKeyOptions = { keyUrl: 'https://vault.example.com/transit/keys/memory', ...token };
await using memory = await openMemory({
  store: 'sqlite:memory.sqlite',
  tenant: 'acme',
  rootKey: vaultRootKey(options),
});
console.log(await memory.files.exists('/memories/launch.md'));
