import { DeleteItemCommand, UpdateItemCommand } from '@aws-sdk/client-dynamodb';
import { MemoryError } from '../errors.ts';
import { readSdkFailure } from '../store/failures.ts';
import type { TenantTable } from './tenant-table.ts';

/**
 * Replaces the settings of a tenant in a table, on the condition that they are as they were read; other attributes of
 * the item stay. Without settings the item goes.
 *
 * @throws MemoryError `version_conflict` where somebody else has changed them meanwhile; as `TenantTable.ask`.
 */
export async function changeSettings(
  table: TenantTable,
  {
    tenant,
    read,
    settings,
    signal,
  }: {
    readonly tenant: string;
    /** The text that was read; undefined: there was no item. */
    readonly read: string | undefined;
    /** The text that takes its place; undefined: none. */
    readonly settings: string | undefined;
    readonly signal?: AbortSignal | undefined;
  },
): Promise<void> {
  const item = { TableName: table.name, Key: { tenant: { S: tenant } } };
  const asRead = {
    ConditionExpression: read === undefined ? 'attribute_not_exists(tenant)' : 'settings = :read',
  };
  const values = {
    ...(read !== undefined && { ':read': { S: read } }),
    ...(settings !== undefined && { ':new': { S: settings } }),
  };
  try {
    await table.ask(async (client, within) => {
      const given = { ...item, ...asRead, ExpressionAttributeValues: values };
      await (settings === undefined
        ? client.send(new DeleteItemCommand(given), within)
        : client.send(new UpdateItemCommand({ ...given, UpdateExpression: 'SET settings = :new' }), within));
    }, signal);
  } catch (error) {
    const { cause } = Object(error);
    if (readSdkFailure(cause).name !== 'ConditionalCheckFailedException') throw error;
    // The change of an attempt whose answer was lost meets its own condition at the next one.
    if ((await table.read(tenant, signal)) === settings) return;
    throw new MemoryError(
      'version_conflict',
      `The settings of ${tenant} have changed since they were read: look at them, and run this again.`,
    );
  }
}
