// What is known of the flow of the configuration: its events, and how it stands.
import type { Problem } from './problem.ts';

/**
 * `applied`: in force now. `recovered`: the directory again holds what is in force. `rejected`: nothing changed. `last-good-used`:
 * started on the copy, the problems say why. `warning`: worth a line, changes nothing.
 */
export interface ConfigEvent {
  kind: 'applied' | 'recovered' | 'rejected' | 'last-good-used' | 'warning';
  /** Of the content the event is about. */
  revision: string;
  problems: readonly Problem[];
}

export interface FollowStatus {
  /** Of the configuration in force. */
  revision: string;
  source: 'directory' | 'last-good';
  lastReloadSuccessful: boolean;
  /** When the directory last held what is in force; 0 when it has not since the start. */
  lastSuccessMs: number;
  /** Since the start, the first load not counted. */
  reloads: { success: number; failure: number };
  /** What is wrong with the directory now. */
  problems: readonly Problem[];
}
