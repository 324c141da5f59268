// The part of the SDK of tokens that the roles of tenants need, in a module of its own: the first role that is assumed
// loads it.
export { AssumeRoleCommand, STSClient } from '@aws-sdk/client-sts';
