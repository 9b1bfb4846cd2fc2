/* The session without a socket: each test is a conversation, bytes in and events out. */
#include <string.h>

#include "check.h"
#include "session.h"

static struct session session;
static uint8_t room[MAX_REPLY];

static void begin(void)
{
    CHECK(session_begin(&session));
}

static struct session_request request_for(void)
{
    struct session_request request = {.reply = room, .reply_room = sizeof room};
    return request;
}

static sandbox_error_t inspect(struct session_request* request)
{
    struct client_message message = {.request_case = CLIENT_MESSAGE_INSPECT,
                                     .request.inspect.sandbox_id = 7};
    return session_submit(&session, request, &message);
}

static void feed(const void* data, size_t len)
{
    const uint8_t* bytes = data;
    while (len) {
        size_t fits;
        uint8_t* input = session_input(&session, &fits);
        size_t some = len < fits ? len : fits;
        memcpy(input, bytes, some);
        session_received(&session, some);
        bytes += some;
        len -= some;
    }
}

static size_t put_reply(uint8_t* out, const struct server_message* message)
{
    size_t size;
    CHECK(pb_measure(&server_message_type, message, &size));
    out[0] = (uint8_t)(size >> 24);
    out[1] = (uint8_t)(size >> 16);
    out[2] = (uint8_t)(size >> 8);
    out[3] = (uint8_t)size;
    return (size_t)(pb_write(&server_message_type, message, out + 4) - out);
}

static void feed_reply(const struct server_message* message)
{
    static uint8_t frame[4 + MAX_REPLY];
    feed(frame, put_reply(frame, message));
}

static void feed_inspected(uint64_t id)
{
    struct server_message message = {.request_id = id,
                                     .response_case = SERVER_MESSAGE_INSPECT,
                                     .response.inspect = {.sandbox_id = 7, .uptime_ms = id}};
    feed_reply(&message);
}

static void feed_error(uint64_t id, int32_t code)
{
    struct server_message message = {.request_id = id,
                                     .response_case = SERVER_MESSAGE_ERROR,
                                     .response.error = {.error_code = code}};
    feed_reply(&message);
}

static void expect(struct session_request* request, sandbox_error_t status)
{
    CHECK(session_next_finished(&session) == request);
    CHECK(request->is_finished);
    CHECK_EQUAL(request->status, status);
}

static void end(void)
{
    CHECK(!session_next_finished(&session));
    session_lose(&session, SANDBOX_ERR_INTERNAL);
    while (session_next_finished(&session)) {
    }
    session_end(&session);
}

static void a_request_becomes_a_frame(void)
{
    /* length 7; inspect {sandbox_id: 7}; request_id 1 */
    static const uint8_t frame[] = {0, 0, 0, 7, 0x2a, 2, 8, 7, 0xa0, 6, 1};
    struct session_request request = request_for();
    begin();
    CHECK_EQUAL(inspect(&request), SANDBOX_OK);
    struct session_output output = session_take_output(&session);
    CHECK_EQUAL(output.len, sizeof frame);
    CHECK(!memcmp(output.data, frame, sizeof frame));
    CHECK_EQUAL(session_take_output(&session).len, 0);
    session_return_output(&session, output);
    end();
}

static void replies_in_any_order_find_their_requests(void)
{
    struct session_request requests[200];
    begin();
    for (size_t i = 0; i < 200; i++) {
        requests[i] = request_for();
        CHECK_EQUAL(inspect(&requests[i]), SANDBOX_OK);
    }
    for (size_t i = 200; i-- > 0;) {
        struct inspect_response seen;
        feed_inspected(i + 1);
        expect(&requests[i], SANDBOX_OK);
        struct pb_view body = {room, requests[i].reply_len};
        CHECK(pb_read(&inspect_response_type, &seen, body));
        CHECK_EQUAL(seen.uptime_ms, i + 1);
    }
    end();
}

static void a_reply_may_come_a_byte_at_a_time_or_with_others(void)
{
    struct session_request first = request_for(), second = request_for();
    uint8_t frames[256];
    begin();
    CHECK_EQUAL(inspect(&first), SANDBOX_OK);
    CHECK_EQUAL(inspect(&second), SANDBOX_OK);
    struct server_message message = {.request_id = 1,
                                     .response_case = SERVER_MESSAGE_INSPECT};
    size_t len = put_reply(frames, &message);
    message.request_id = 2;
    len += put_reply(frames + len, &message);
    for (size_t i = 0; i < len / 2 - 1; i++) {
        feed(frames + i, 1);
        CHECK(!session_next_finished(&session));
    }
    feed(frames + len / 2 - 1, len - (len / 2 - 1));
    expect(&first, SANDBOX_OK);
    expect(&second, SANDBOX_OK);
    end();
}

static void every_code_arrives_and_an_unknown_one_is_internal(void)
{
    static const int32_t codes[] = {0, 1, -16, -1000, INT32_MIN, INT32_MAX};
    begin();
    for (int32_t code = -1; code >= -15; code--) {
        struct session_request request = request_for();
        CHECK_EQUAL(inspect(&request), SANDBOX_OK);
        feed_error(request.id, code);
        expect(&request, (sandbox_error_t)code);
    }
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        struct session_request request = request_for();
        CHECK_EQUAL(inspect(&request), SANDBOX_OK);
        feed_error(request.id, codes[i]);
        expect(&request, SANDBOX_ERR_INTERNAL);
    }
    end();
}

static void an_answer_to_another_question_is_internal(void)
{
    struct session_request request = request_for();
    struct server_message message = {.request_id = 1, .response_case = SERVER_MESSAGE_PAUSE};
    begin();
    CHECK_EQUAL(inspect(&request), SANDBOX_OK);
    feed_reply(&message);
    expect(&request, SANDBOX_ERR_INTERNAL);
    CHECK(!session.is_lost);
    end();
}

static void a_reply_that_does_not_fit_is_internal(void)
{
    struct session_request request = request_for();
    begin();
    request.reply_room = 1;
    CHECK_EQUAL(inspect(&request), SANDBOX_OK);
    feed_inspected(1);
    expect(&request, SANDBOX_ERR_INTERNAL);
    CHECK(!session.is_lost);
    end();
}

static void expect_loss(sandbox_error_t status)
{
    struct session_request request = request_for();
    CHECK(session.is_lost);
    CHECK_EQUAL(inspect(&request), status);
    end();
}

static void a_reply_without_an_id_ends_the_session(void)
{
    struct session_request first = request_for(), second = request_for();
    begin();
    CHECK_EQUAL(inspect(&first), SANDBOX_OK);
    CHECK_EQUAL(inspect(&second), SANDBOX_OK);
    feed_error(0, SANDBOX_ERR_INVALID_SPEC);
    expect(&first, SANDBOX_ERR_DAEMON_UNREACHABLE);
    expect(&second, SANDBOX_ERR_DAEMON_UNREACHABLE);
    expect_loss(SANDBOX_ERR_DAEMON_UNREACHABLE);
}

static void a_refusal_without_an_id_is_told(void)
{
    struct session_request request = request_for();
    begin();
    CHECK_EQUAL(inspect(&request), SANDBOX_OK);
    feed_error(0, SANDBOX_ERR_PERMISSION_DENIED);
    expect(&request, SANDBOX_ERR_PERMISSION_DENIED);
    expect_loss(SANDBOX_ERR_PERMISSION_DENIED);
}

static void a_reply_to_nothing_ends_the_session(void)
{
    struct session_request request = request_for();
    begin();
    CHECK_EQUAL(inspect(&request), SANDBOX_OK);
    feed_inspected(1);
    expect(&request, SANDBOX_OK);
    feed_inspected(1);
    expect_loss(SANDBOX_ERR_DAEMON_UNREACHABLE);
}

static void a_frame_that_cannot_be_ends_the_session(void)
{
    static const uint8_t too_long[] = {0, 1, 0, 1};
    static const uint8_t garbage[] = {0, 0, 0, 3, 0xff, 0xff, 0xff};
    static const uint8_t empty[] = {0, 0, 0, 0};
    struct session_request request = request_for();
    begin();
    CHECK_EQUAL(inspect(&request), SANDBOX_OK);
    feed(too_long, sizeof too_long);
    expect(&request, SANDBOX_ERR_DAEMON_UNREACHABLE);
    expect_loss(SANDBOX_ERR_DAEMON_UNREACHABLE);
    begin();
    feed(garbage, sizeof garbage);
    expect_loss(SANDBOX_ERR_DAEMON_UNREACHABLE);
    begin();
    feed(empty, sizeof empty);
    expect_loss(SANDBOX_ERR_DAEMON_UNREACHABLE);
}

static void the_largest_reply_fits(void)
{
    static uint8_t data[MAX_REPLY];
    struct session_request request = request_for();
    struct server_message message = {.request_id = 1, .response_case = SERVER_MESSAGE_GUEST};
    struct guest_response* guest = &message.response.guest;
    struct client_message asked = {.request_case = CLIENT_MESSAGE_GUEST};
    size_t size;
    begin();
    CHECK_EQUAL(session_submit(&session, &request, &asked), SANDBOX_OK);
    guest->result_case = GUEST_RESPONSE_READ_FILE;
    guest->result.read_file.data = (struct pb_view){data, MAX_REPLY - 15};
    CHECK(pb_measure(&server_message_type, &message, &size));
    CHECK_EQUAL(size, MAX_REPLY);
    feed_reply(&message);
    expect(&request, SANDBOX_OK);
    end();
}

static void a_request_over_the_limit_is_not_taken(void)
{
    static uint8_t data[MAX_REQUEST];
    struct session_request request = request_for();
    struct client_message message = {.request_case = CLIENT_MESSAGE_GUEST};
    struct guest_request* guest = &message.request.guest;
    begin();
    guest->operation_case = GUEST_REQUEST_WRITE_FILE;
    guest->operation.write_file.data = (struct pb_view){data, sizeof data};
    CHECK_EQUAL(session_submit(&session, &request, &message), SANDBOX_ERR_TOO_LARGE);
    CHECK_EQUAL(session_take_output(&session).len, 0);
    guest->operation.write_file.data.len = MAX_REQUEST - 15;
    CHECK_EQUAL(session_submit(&session, &request, &message), SANDBOX_OK);
    CHECK_EQUAL(session.output.len, FRAME_HEADER + MAX_REQUEST);
    end();
}

static void text_that_is_not_utf8_is_not_sent(void)
{
    struct session_request request = request_for();
    struct client_message message = {.request_case = CLIENT_MESSAGE_CREATE};
    begin();
    message.request.create.template_name = pb_string("caf\xe9");
    CHECK_EQUAL(session_submit(&session, &request, &message), SANDBOX_ERR_INVALID_SPEC);
    CHECK_EQUAL(session_take_output(&session).len, 0);
    end();
}

static void what_is_submitted_while_sending_is_sent_next(void)
{
    struct session_request requests[3];
    begin();
    for (int i = 0; i < 3; i++) {
        requests[i] = request_for();
    }
    CHECK_EQUAL(inspect(&requests[0]), SANDBOX_OK);
    struct session_output sending = session_take_output(&session);
    CHECK_EQUAL(inspect(&requests[1]), SANDBOX_OK);
    CHECK_EQUAL(inspect(&requests[2]), SANDBOX_OK);
    session_return_output(&session, sending);
    struct session_output next = session_take_output(&session);
    CHECK_EQUAL(next.len, 2 * 11);
    CHECK_EQUAL(next.data[10], 2);
    CHECK_EQUAL(next.data[21], 3);
    session_return_output(&session, next);
    end();
}

int main(void)
{
    a_request_becomes_a_frame();
    replies_in_any_order_find_their_requests();
    a_reply_may_come_a_byte_at_a_time_or_with_others();
    every_code_arrives_and_an_unknown_one_is_internal();
    an_answer_to_another_question_is_internal();
    a_reply_that_does_not_fit_is_internal();
    a_reply_without_an_id_ends_the_session();
    a_refusal_without_an_id_is_told();
    a_reply_to_nothing_ends_the_session();
    a_frame_that_cannot_be_ends_the_session();
    the_largest_reply_fits();
    a_request_over_the_limit_is_not_taken();
    text_that_is_not_utf8_is_not_sent();
    what_is_submitted_while_sending_is_sent_next();
    return 0;
}
