// The region of an address of AWS.

/** Matches the region in a host name: `bedrock-runtime.us-east-1.amazonaws.com`, also of FIPS and VPC endpoints. */
const regionInHost = /(?:^|\.)bedrock(?:-runtime)?(?:-fips)?\.([a-z]{2,4}(?:-[a-z]+)+-\d)\./;

/** The region that a host of Bedrock names; undefined: it names none, as behind a proxy. */
export function awsRegionOf(host: string): string | undefined {
  return regionInHost.exec(host)?.[1];
}
