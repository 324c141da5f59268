// The part of the SDK that a root key in KMS needs, in a module of its own: the first use of such a key loads it.
export { DecryptCommand, GenerateDataKeyCommand, KMSClient } from '@aws-sdk/client-kms';
export { NodeHttpHandler } from '@smithy/node-http-handler';
