// What the roles of tenants need of the SDK of tokens, in a module of its own: it is loaded when a role is assumed first.
export { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
