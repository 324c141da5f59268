// Only compiled: it asks STS, in AWS.
import { STSClient } from '@aws-sdk/client-sts';
import type { CredentialsOptions, TenantCredentialProvider, TenantCredentials } from 'sealed-memory/worker';
import { createTenantCredentials } from 'sealed-memory/worker';

const roleArn = 'arn:aws:iam::111122223333:role/memory-tenant';
const options: CredentialsOptions = { sts: new STSClient({}), roleArn };
const ofTenant = createTenantCredentials(options);
const provider: TenantCredentialProvider = ofTenant('acme');
const { expiration }: TenantCredentials = await provider();
console.log(`good for acme's objects until ${expiration.toISOString()}`);
