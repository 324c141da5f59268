// What a root key in KMS needs of the SDK, in a module of its own: it is loaded when such a key is used first.
export { DecryptCommand, GenerateDataKeyCommand, KMSClient } from '@aws-sdk/client-kms';
export { NodeHttpHandler } from '@smithy/node-http-handler';
