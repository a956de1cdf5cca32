// Says that the control plane does not answer, and since when. It goes away by itself.
import { probe } from '../api.ts';
import { useCell } from '../cell.ts';
import { connection, retryNow } from '../connection.ts';
import { html, type View } from '../html.ts';
import { TimeText } from './time-text.ts';

export function ConnectionBanner(): View {
  const { isUp, problem, sinceMs } = useCell(connection);
  return html`<div class="banner-place" role="alert">
    ${
      !isUp &&
      html`<div class="banner">
        <span><strong>No connection</strong> since <${TimeText} ms=${sinceMs} />. ${problem} What you see may be out of date; limits stay in force.</span>
        <button onClick=${() => retryNow(probe)}>Try now</button>
      </div>`
    }
  </div>`;
}
