// Waits until every proxy has the configuration that is mounted here, as /admin/status of the control plane says it. Exit code 1 with the reasons when
// that takes too long.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';

const { CONFIG = '', CONTROL_PLANE = '', KEY_FILE = '', PROGRAM = '', WAIT_SECONDS = '' } = process.env;
const until = Date.now() + Number(WAIT_SECONDS) * 1_000;
const pauseMs = 500;

/** The revision of the mounted YAML; undefined where it comes from git. Throws, after printing them, for mistakes in it. */
function wantedRevision() {
  if (!existsSync(CONFIG)) return undefined;
  const said = execFileSync(process.execPath, [PROGRAM, 'check', CONFIG], { encoding: 'utf8' });
  return /revision (\w+)/.exec(said)?.[1];
}

/** Why the fleet is not there yet, a sentence each. */
function missing(status, revision) {
  const { desired, converged, last_rejected_config: rejected, proxies } = status;
  const reasons = [];
  if (revision !== undefined && desired.config_revision !== revision)
    reasons.push(`the control plane has the configuration ${desired.config_revision}, not yet ${revision}`);
  if (rejected !== null) reasons.push(`a configuration was rejected: ${JSON.stringify(rejected)}`);
  if (proxies.length === 0) reasons.push('no proxy has been heard of');
  for (const { instance, live, last_config_error: error } of proxies.filter((proxy) => !proxy.converged))
    reasons.push(
      `${instance} is behind${live ? '' : ', and silent'}${error === null ? '' : `: ${JSON.stringify(error)}`}`,
    );
  if (!converged && reasons.length === 0) reasons.push('the fleet has not converged');
  return reasons;
}

async function ask(revision) {
  const headers = { authorization: `Bearer ${readFileSync(KEY_FILE, 'utf8').trim()}` };
  try {
    const answer = await fetch(`${CONTROL_PLANE}/admin/status`, { headers, signal: AbortSignal.timeout(5_000) });
    if (!answer.ok) return [`the control plane answers ${answer.status}`];
    return missing(await answer.json(), revision);
  } catch (error) {
    return [`the control plane cannot be asked: ${error.cause?.message ?? error.message}`];
  }
}

const revision = wantedRevision();
for (;;) {
  const reasons = await ask(revision);
  if (reasons.length === 0) break;
  if (Date.now() > until) {
    process.stderr.write(`${reasons.join('\n')}\n`);
    process.exit(1);
  }
  await new Promise((resolve) => setTimeout(resolve, pauseMs));
}
process.stdout.write(`every proxy has the configuration${revision === undefined ? '' : ` ${revision}`}\n`);
