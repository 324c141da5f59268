import {
  type Environment,
  environmentSetting,
  misconfigured,
  readChoice,
  readFlag,
  type Setting,
} from './setting.ts';

export interface S3Config {
  /** Absent: AWS's own endpoint of the region. */
  readonly endpoint?: string;
  /** Absent: left to the store and the SDK's own search (profile files, instance metadata). */
  readonly region?: string;
  /** Absent: the store decides from its endpoint. */
  readonly forcePathStyle?: boolean;
  /** Whether the server honours conditional deletes. Absent: the store decides from its endpoint. */
  readonly guarded?: boolean;
  readonly checksums?: 'when_supported' | 'when_required';
}

/**
 * The `SEALED_MEMORY_S3_` variables, completed by the standard ones: endpoint from `AWS_ENDPOINT_URL_S3` or
 * `AWS_ENDPOINT_URL`, region from `AWS_REGION` or `AWS_DEFAULT_REGION`. Throws `misconfigured`, naming the variable.
 */
export function readS3Config(env: Environment): S3Config {
  const endpoint = readEndpoint(environmentSetting(env, 'SEALED_MEMORY_S3_ENDPOINT') ?? sharedEndpoint(env));
  const region = readRegion(env);
  const forcePathStyle = readFlag(environmentSetting(env, 'SEALED_MEMORY_S3_FORCE_PATH_STYLE'));
  const guarded = readFlag(environmentSetting(env, 'SEALED_MEMORY_S3_GUARDED'));
  const checksums = readChoice(environmentSetting(env, 'SEALED_MEMORY_S3_CHECKSUMS'), [
    'when_supported',
    'when_required',
  ]);
  return Object.freeze({
    ...(endpoint !== undefined && { endpoint }),
    ...(region !== undefined && { region }),
    ...(forcePathStyle !== undefined && { forcePathStyle }),
    ...(guarded !== undefined && { guarded }),
    ...(checksums !== undefined && { checksums }),
  });
}

function sharedEndpoint(env: Environment): Setting | undefined {
  if (environmentSetting(env, 'AWS_IGNORE_CONFIGURED_ENDPOINT_URLS')?.text.toLowerCase() === 'true') {
    return undefined;
  }
  return environmentSetting(env, 'AWS_ENDPOINT_URL_S3') ?? environmentSetting(env, 'AWS_ENDPOINT_URL');
}

function readEndpoint(setting: Setting | undefined): string | undefined {
  if (setting === undefined) {
    return undefined;
  }
  const url = URL.parse(setting.text);
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (!isHttp || `${url.username}${url.password}${url.search}${url.hash}` !== '') {
    throw misconfigured(
      `${setting.label} must be an http or https URL without credentials, query and fragment.`,
    );
  }
  return setting.text;
}

function readRegion(env: Environment): string | undefined {
  const setting =
    environmentSetting(env, 'SEALED_MEMORY_S3_REGION') ??
    environmentSetting(env, 'AWS_REGION') ??
    environmentSetting(env, 'AWS_DEFAULT_REGION');
  if (setting !== undefined && !/^[A-Za-z0-9-]{1,63}$/.test(setting.text)) {
    throw misconfigured(`${setting.label} is not the name of a region, such as eu-central-1.`);
  }
  return setting?.text;
}
