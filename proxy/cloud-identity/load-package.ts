// Packages of clouds are optional: an install may leave them out.

/** Imports one that is used for the first time. `name`: what to install where it is missing. */
export async function loadPackage<Package>(name: string, load: () => Promise<Package>): Promise<Package> {
  try {
    return await load();
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw new Error(`the package ${name} is not installed; run \`npm install ${name}\` beside the gateway`, {
      cause: error,
    });
  }
}
