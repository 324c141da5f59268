/** The variables of the clients of Vault, as these read them; an empty one counts as absent. */
interface VaultEnvironment {
  readonly token: string | undefined;
  readonly tokenFile: string | undefined;
  /** The URL of the server to which the token belongs. */
  readonly address: string | undefined;
  readonly namespace: string | undefined;
}

/** Answers the present variables of this process, whatever else is configured: they are Vault's, not this library's. */
export function vaultEnvironment(): VaultEnvironment {
  const { VAULT_TOKEN, VAULT_TOKEN_FILE, VAULT_ADDR, VAULT_NAMESPACE } = process.env;
  return {
    token: VAULT_TOKEN || undefined,
    tokenFile: VAULT_TOKEN_FILE || undefined,
    address: VAULT_ADDR || undefined,
    namespace: VAULT_NAMESPACE || undefined,
  };
}
