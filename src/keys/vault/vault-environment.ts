/** The variables of the clients of Vault, as these read them; an empty one counts as absent. */
type VaultVariable = 'VAULT_TOKEN' | 'VAULT_TOKEN_FILE' | 'VAULT_ADDR' | 'VAULT_NAMESPACE';

/** Answers a variable of this process at present, whatever else is configured: it is Vault's, not this library's. */
export function vaultVariable(name: VaultVariable): string | undefined {
  return process.env[name] || undefined;
}
