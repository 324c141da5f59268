// The part of the SDK of DynamoDB that reads a table of tenants, in a module of its own: the first question loads it.
export { DynamoDBClient, GetItemCommand } from '@aws-sdk/client-dynamodb';
