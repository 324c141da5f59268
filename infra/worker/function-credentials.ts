// Credentials in the bundle, in place of the AWS SDK's search for them: a Lambda function has them in its environment,
// so the bundle leaves out the code that asks files, other processes, single sign-on or metadata services.

interface FunctionCredentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string;
}

/** Finds the credentials; named as in `@aws-sdk/credential-provider-node`. */
export function defaultProvider(): () => Promise<FunctionCredentials> {
  return async () => {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = process.env;
    if (!AWS_ACCESS_KEY_ID || !AWS_SECRET_ACCESS_KEY) {
      throw Object.assign(new Error('the environment holds no AWS credentials'), {
        name: 'CredentialsProviderError',
      });
    }
    return {
      accessKeyId: AWS_ACCESS_KEY_ID,
      secretAccessKey: AWS_SECRET_ACCESS_KEY,
      ...(AWS_SESSION_TOKEN && { sessionToken: AWS_SESSION_TOKEN }),
    };
  };
}
