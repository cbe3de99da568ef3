//! The list of promises, and the macro that makes a test of each.

/// Makes one test per promise, in modules named after the files of the suite, so that every backend shows the same list.
/// The expression makes a fresh [`Harness`](crate::contract::Harness) and is evaluated once per test.
///
/// ```ignore
/// prom_store::contract_tests!(MyHarness::new());
/// ```
#[macro_export]
macro_rules! contract_tests {
    ($harness:expr) => {
        $crate::contract_tests! { @modules $harness;
            append {
                appended_events_get_offsets_0_1_2
                each_log_has_its_own_offsets
                events_come_back_as_they_were_published
                the_largest_event_is_stored_and_read_back
                the_largest_batch_is_stored_whole
                a_batch_over_several_logs_is_stored_whole
                an_empty_commit_changes_nothing
                a_refused_batch_leaves_nothing_behind
                stored_ts_never_goes_back_when_the_clock_does
                stored_ts_never_goes_back_even_when_nothing_is_left_to_compare
                concurrent_appenders_get_a_gap_free_sequence_each_in_its_own_order
                a_commit_counts_although_its_caller_stopped_waiting
            }
            dedupe {
                an_id_repeated_within_the_window_gets_the_first_receipt
                an_id_is_known_across_a_restart
                an_id_repeated_inside_one_batch_is_stored_once
                an_id_that_the_hub_made_is_known_when_it_is_repeated
                the_same_id_in_another_log_is_another_event
                after_the_window_an_id_is_stored_again
                after_the_window_an_id_is_stored_again_across_a_restart
                an_id_is_known_within_the_window_although_retention_removed_its_event
                an_id_is_known_within_the_window_although_compaction_removed_its_event
                an_exact_id_is_known_for_as_long_as_its_event_is_retained
                an_exact_id_is_forgotten_with_its_event
                an_exact_id_is_known_in_every_partition_of_its_topic
            }
            read {
                a_read_stops_at_the_number_of_events
                a_read_stops_at_the_number_of_bytes_but_gives_at_least_one
                continuing_where_a_read_stopped_gives_every_event_once
                a_read_at_or_beyond_the_end_is_empty
                a_log_that_was_never_appended_to_is_empty
                logs_are_listed_by_name_with_their_bounds_and_sizes
            }
            find {
                an_offset_is_found_by_time
                an_offset_is_found_by_id
                an_offset_is_found_by_the_bytes_that_remain_after_it
                trimmed_events_are_not_found
            }
            watch {
                a_watch_wakes_on_an_append
                a_watch_wakes_on_a_trim
                a_log_can_be_watched_before_it_exists
                a_reader_that_sleeps_until_woken_misses_nothing
                a_watch_ends_when_the_store_closes
            }
            trim {
                a_trim_moves_the_start_at_once_and_for_good
                a_read_below_the_start_begins_at_the_start
                trimming_everything_keeps_the_next_offset
                a_trim_stops_at_the_end_and_never_goes_back
            }
            expect {
                an_append_at_the_expected_offset_is_stored_and_another_is_refused
                an_append_is_stored_only_behind_the_expected_event_of_its_key
                a_key_whose_newest_event_is_a_tombstone_has_no_live_event
                of_appends_that_expect_the_same_one_is_stored
                every_expectation_of_a_batch_is_held_against_the_state_before_it
                a_batch_over_several_logs_is_refused_for_one_of_them
                a_repeated_id_is_answered_before_its_expectation_is_looked_at
                retention_does_not_make_a_key_look_unwritten
                compaction_does_not_change_what_a_key_is_expected_to_be
                versions_turned_on_later_know_what_is_there
                what_was_known_before_versions_were_off_for_a_while_is_not_believed
                a_log_that_begins_anew_knows_no_key
            }
            place {
                offsets_can_be_left_empty
                a_place_that_is_taken_refuses_the_commit
                the_time_of_an_event_is_kept_but_never_goes_back_or_ahead
            }
            compact {
                the_latest_event_of_a_key_is_looked_up
                a_deleted_key_can_come_back
                a_trimmed_event_is_no_longer_the_latest_of_its_key
                a_log_that_is_not_compacted_has_no_latest_events
                compaction_can_be_turned_on_for_a_log_that_has_events
                an_event_without_a_key_is_refused_on_a_compacted_log
                compaction_keeps_the_latest_event_of_each_key
                compaction_leaves_the_newest_events_alone
                compacting_again_changes_nothing
                a_tombstone_stays_for_its_grace_from_when_it_was_first_cleaned
                reads_skip_what_compaction_removed
                compaction_stops_at_its_limit_and_the_state_there_stays_whole
                compaction_tells_before_it_removes_and_takes_no_for_an_answer
            }
            cursor {
                creating_a_cursor_keeps_one_that_exists
                the_floor_moves_only_over_what_is_contiguous
                settling_nothing_fences_the_documents_beside_it
                what_is_settled_survives_a_restart
                settling_twice_changes_nothing
                failures_are_kept_overwritten_and_forgotten_when_settled
                taking_a_cursor_fences_its_earlier_holder
                an_epoch_survives_a_restart
                a_reset_forgets_what_was_settled_and_raises_the_epoch
                a_deleted_cursor_is_gone
                an_earlier_holder_cannot_settle_in_a_recreated_cursor
                cursors_are_listed_by_topic
            }
            document {
                each_write_raises_the_revision
                a_write_whose_condition_fails_is_refused
                a_deleted_document_starts_over_at_revision_1
                a_write_that_expects_absent_or_same_keeps_an_equal_value
                a_write_that_expects_absent_or_same_refuses_the_whole_commit
                writes_of_one_commit_see_each_other
                documents_are_listed_in_key_order_page_by_page
                collections_are_apart
                a_listener_hears_of_every_write_to_a_shared_collection
            }
            end {
                an_ended_log_is_empty_and_is_not_listed
                an_ended_log_takes_no_event_until_it_begins_anew
                a_log_that_begins_anew_uses_no_offset_twice
                ids_of_an_ended_log_are_new_again
                the_latest_events_of_an_ended_log_are_gone
                a_log_ends_together_with_its_cursors_and_documents_or_not_at_all
                a_new_cursor_begins_where_the_log_began_anew
                a_watch_wakes_on_the_end_of_its_log_and_goes_on_after_it
                a_log_ends_and_begins_anew_again_and_again
            }
            lease {
                a_lease_has_one_holder_until_it_ends
                a_holder_extends_its_lease_under_the_same_fence
                a_released_lease_is_free_at_once
                a_lease_can_be_looked_up
                releasing_an_earlier_lease_leaves_the_later_one
                turning_the_wall_clock_back_keeps_no_lease_alive
            }
            commit {
                events_cursors_and_documents_become_durable_together
                an_old_epoch_refuses_the_whole_commit
                a_cursor_is_created_and_settled_in_one_commit
            }
            close {
                every_call_after_closing_answers_closed
                closing_twice_is_no_error
            }
        }
    };
    (@modules $harness:expr; $($file:ident { $($promise:ident)* })*) => {
        $(mod $file {
            #[allow(unused_imports)]
            use super::*;
            $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $promise() -> $crate::contract::CheckResult {
                let harness = $harness;
                $crate::contract::$file::$promise(&harness).await
            })*
        })*
    };
}
