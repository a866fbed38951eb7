"""Sentences of our own for the embedded models to learn from.

A template is a line of text with alternatives in brackets, ``[да|нет|]``, and slots in braces,
``{phone}``; a slot is another template list or a function of the random generator. Five domains:
telephone menus, calls, commands to an assistant, numbers with their nouns, everyday sentences;
and chains of inflected words, which teach spelling where the templates' words run out.

A sentence belongs to the training, watching or test part by the hash of its normalised text, so the
parts never share a sentence, whatever the seed.

Run as a program it prints sentences of one part.
"""

# ruff: noqa: E501 (a template stands on one line, however long)

from __future__ import annotations

import argparse
import hashlib
import random
import re
from typing import TYPE_CHECKING, Literal, NamedTuple

import lexicon as lx

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Part = Literal["train", "watch", "test"]


def _words(text: str) -> list[str]:
    return text.split()


IVR = """
[пожалуйста, |]нажмите {key}[, чтобы {ivr_goal}| для {ivr_thing_gen}]
[чтобы {ivr_goal}|для {ivr_thing_gen}][,|] нажмите {key}
если вы хотите {ivr_goal}, нажмите {key}[, если нет, нажмите {key}|]
{key} [–|,] чтобы {ivr_goal}, {key} [–|,] чтобы {ivr_goal}
[пожалуйста, |]введите {ivr_enter}[ и нажмите {key_sign}|, затем {key_sign}|, после этого нажмите {key_sign}]
[после сигнала |после гудка |]назовите {ivr_enter}
{ivr_enter_nom} [введён|указан|набран] [неверно|неправильно|с ошибкой][, попробуйте снова|, повторите ввод|]
[неверный|неправильный|недействительный] {ivr_code}[, попробуйте [ещё раз|позже]|, повторите попытку|]
[вы набрали|вы ввели|вы выбрали|ваш номер|внутренний номер|номер абонента|номер конференции|номер заказа] {digits}
[абонент|оператор|сотрудник|пользователь|вызываемый абонент] [сейчас |временно |]{ivr_state}[, перезвоните {time_when}|, оставьте сообщение|]
[к сожалению, |извините, |]{ivr_sorry}
{ivr_feature} [{ivr_onoff}|теперь {ivr_onoff}|уже {ivr_onoff}|временно {ivr_onoff}]
[ваше|это|голосовое|новое|последнее|временное] {ivr_message} [сохранено|удалено|отправлено|получено|записано|переслано|прослушано|помечено как важное|восстановлено|принято]
[ваш|этот|новый] [пароль|номер|код|вызов|звонок|логин|заказ] [сохранён|удалён|изменён|отменён|принят|переведён|добавлен|завершён|отключён]
[ваша|эта|новая] [запись|заявка|настройка|услуга|опция|встреча|регистрация] [сохранена|удалена|отменена|принята|изменена|добавлена|завершена|отключена]
у вас {count_messages}
[всего|получено|осталось|удалено|сохранено] {count_messages}
[сообщение|звонок|вызов|письмо] от [абонента|оператора|клиента|неизвестного абонента|номера] {digits}
[в конференции|на линии|в очереди|в системе] [сейчас |уже |ещё |]{count_people}
{person_full} [вошёл в конференцию|вышел из конференции|присоединился к разговору|покинул конференцию|подключился|отключился]
вы [вошли в конференцию|вышли из конференции|первый участник|единственный участник разговора|в очереди {ordinal_m}|следующий в очереди]
конференция [сейчас |скоро |]{ivr_conf}
[микрофон|звук|динамик|ваш микрофон|ваш звук|музыка] [сейчас |теперь |уже |]{ivr_onoff_m}
[ожидайте|оставайтесь на линии|не кладите трубку|подождите][, пожалуйста|][, {ivr_wait}|]
[примерное |ожидаемое |среднее |]время ожидания [составляет |менее |около |]{duration}
спасибо за [ожидание|звонок|обращение|терпение|вашу оценку|ваш ответ|то, что вы с нами][, {ivr_wait}|]
[добро пожаловать|здравствуйте, вы позвонили|благодарим за обращение|вас приветствует] [в|] {company}
[главное меню|голосовое меню|голосовая почта|справочная служба|служба поддержки|техническая поддержка|отдел продаж|отдел доставки|бухгалтерия|приёмная директора]
[все операторы|все линии|все сотрудники|все специалисты|наши операторы] [сейчас |в данный момент |]заняты
[ваш звонок|ваш вызов|наш разговор] [будет записан|очень важен для нас|переведён на оператора|поставлен на удержание|будет обслужен|не может быть обслужен]
[переадресация|удержание|ожидание|блокировка|запись] [вызова|звонка|разговора|номера] [{ivr_onoff_f}|]
[чёрный список|быстрый набор|автоответчик|режим записи|режим ожидания|телефонный справочник|чёрный экран] [{ivr_onoff_m}|пуст|очищен|недоступен|обновлён|]
[следующее|предыдущее|первое|последнее|второе|новое|старое] сообщение
[до свидания|всего доброго|хорошего дня|до встречи|всего хорошего][, спасибо за звонок|]
{key} [чтобы|] {ivr_goal}
или нажмите {key_sign} для [выхода|отмены|продолжения|возврата|помощи]
[слово|буква|код|пароль|позывной] {spelled}
{spelled}
{spelled} {digits}
"""

IVR_GOALS = """
[прослушать|удалить|сохранить|переслать|повторить|отправить|записать|восстановить|пометить] [сообщение|это сообщение|следующее сообщение|предыдущее сообщение|новые сообщения|все сообщения|приветствие]
[включить|выключить|отключить|проверить|настроить] [микрофон|звук|переадресацию|автоответчик|музыку|запись разговора|уведомления]
[увеличить|уменьшить|изменить] [громкость|громкость звука|громкость голоса|уровень громкости|скорость]
[открыть|закрыть|заблокировать|разблокировать|покинуть|расширить|начать|завершить] [конференцию|комнату|разговор|доступ к номеру]
[изменить|сменить|ввести|проверить|восстановить] [пароль|номер|код доступа|настройки|адрес|имя абонента]
[вернуться|перейти] [в|на] [главное меню|предыдущее меню|раздел настроек|начало списка|конец сообщения]
[связаться|поговорить|соединиться] с [оператором|менеджером|абонентом|отделом продаж|дежурным врачом|технической поддержкой|директором|бухгалтерией]
[узнать|услышать|получить] [баланс|остаток на счёте|время работы|адрес магазина|номер заказа|дополнительную информацию|состояние заявки|расписание]
[позвонить|перезвонить] [абоненту|по этому номеру|по другому номеру|отправителю|позже]
[оставить|прослушать|записать] [голосовое сообщение|отзыв|своё имя|новое приветствие|заявку]
[выйти|выйти из меню|выйти из конференции|продолжить|отменить операцию|повторить попытку|отказаться|добавить номер в чёрный список|удалить последнего участника|прослушать список участников]
"""

CALLS = """
[алло|да|слушаю|здравствуйте|добрый день|доброе утро|добрый вечер][, {who_calls}|, я вас слушаю|, чем могу помочь|, это {person}|]
[меня зовут|моё имя|это говорит|с вами говорит|вас беспокоит] {person_full}
[можно|могу я|позовите, пожалуйста,|соедините меня с|переключите на] [услышать |поговорить с |] [директора|бухгалтера|менеджера|отдел доставки|службу поддержки|{person}]
[мой|запишите мой|ваш|продиктуйте ваш|подтвердите ваш] номер [телефона |] {phone}
[перезвоните мне|позвоните|я перезвоню|мы перезвоним|звоните] [, пожалуйста,|] {time_when}
[я хочу|я хотел бы|мне нужно|можно|хотелось бы] {client_goal}
[когда|во сколько|через сколько] [приедет|будет|придёт|освободится] [курьер|мастер|врач|автобус|заказ|менеджер|специалист]
[сколько|сколько сейчас|сколько примерно] [стоит|будет стоить] [доставка|ремонт|билет|приём врача|подключение|консультация|установка][ до {city_gen}| в {city_loc}|]
[номер договора|номер заказа|номер карты|лицевой счёт|код подтверждения|номер квитанции] {digits}
[адрес|мой адрес|доставка по адресу|запишите адрес][,|] {address}
[вы не могли бы|будьте добры|пожалуйста,] [повторить|повторите] [номер|адрес|фамилию|это ещё раз|вопрос|последнее слово]
[я вас не слышу|плохо слышно|говорите громче|повторите, пожалуйста|связь прервалась|минуточку|одну минуту|подождите немного|не расслышал вас]
[у меня|у нас] [не работает|сломался|пропал|плохо работает|отключился] [интернет|телефон|принтер|телевизор|холодильник|звук|домофон|лифт]
[да, конечно|хорошо, договорились|нет, спасибо|да, всё верно|нет, не надо|совершенно верно|хорошо, жду|понятно, спасибо|без проблем|не за что]
[ваша заявка|ваш заказ|ваша посылка|ваше обращение] номер {digits} [принят|готов|отправлен|зарегистрирован|в обработке|доставлен|отменён]
[встреча|собрание|приём|запись|консультация|экскурсия] [назначена на|перенесена на|начнётся|состоится] {date} [в {clock}|]
[ваш баланс|остаток на счёте|сумма к оплате|стоимость заказа|ваша задолженность|итого] [составляет |равен |] {money}
[менеджер|оператор|директор|клиент|бухгалтер|водитель] {person_full} [просил перезвонить|на обеде|в командировке|скоро будет|заболел|ждёт вас {time_when}|вышел|занят]
[подскажите, пожалуйста,|скажите,|не подскажете,] [как доехать до {place_gen}|где находится {place}|как вас зовут|какой у вас адрес|работаете ли вы {weekday_in}|во сколько вы закрываетесь]
{spell_name}
"""

ASSISTANT = """
[поставь|установи|заведи] [будильник|таймер|напоминание] на {clock}[ утра| вечера|]
[разбуди|напомни] [меня |мне |][{time_when}|через {duration}|в {clock}][ {remind}|]
[какая|скажи, какая|узнай, какая] [будет |] погода [{when_day} |] [в {city_loc}|]
[включи|выключи|сделай] [свет|музыку|телевизор|чайник|пылесос|кондиционер|радио|новости] [в {room_loc}|погромче|потише|]
[позвони|напиши|отправь сообщение|набери] {person_dat}
[найди|покажи|открой|ищи] [{movie}|рецепт {dish_gen}|фотографии {place_gen}|ближайшую аптеку|карту {city_gen}|расписание поездов|курс доллара|песню про {noun_acc}]
[сколько будет|посчитай|сложи] {small} [плюс|минус|умножить на|разделить на] {small}
[построй|проложи] маршрут до {place_gen}
[закажи|купи|добавь в список|положи в корзину] {goods}
[расскажи|прочитай] [сказку|анекдот|новости|стихотворение|историю о {noun_loc}|интересный факт]
[который час|сколько времени|какое сегодня число|какой сегодня день недели|какой завтра праздник]
[сделай громче|сделай тише|пауза|продолжи|следующий трек|повтори|стоп|хватит|дальше|назад|отмена|замолчи]
[убавь|прибавь|увеличь|уменьши] [громкость|яркость|температуру] [на {percent}|до {percent}|]
[переведи на английский|как по английски|что значит] [слово |] {noun_nom}
[запиши|создай заметку|добавь заметку|запомни][,|] {everyday}
[вызови такси|закажи такси] [до {place_gen}|на {clock}|по адресу {address}]
[какой|узнай] курс [доллара|евро|юаня|рубля] [на сегодня|]
[включи|поставь] [канал|телеканал|программу|станцию|песню|сериал|мультик|фильм] {title}
"""

NUMBERS = """
{number} {unit_of_number}
{small} {small} {small}
{digits}
{phone}
{date}[ {year}|]
{clock}
{money}
{percent}
{small} [целых|и] {small}
[число|цифра|номер|дом|квартира|кабинет|этаж|рейс|поезд|автобус|палата|комната] [номер |]{number}
{ordinal_m} [этаж|подъезд|раз|вагон|класс|ряд|урок|сезон|день]
{ordinal_f} [очередь|страница|серия|минута|часть|линия|улица]
{ordinal_m} {ordinal_m} {ordinal_m}
[с|от] {ordinal_gen} [до|по] {ordinal_acc}
[население|площадь|высота|вес|скорость|длина|температура] [составляет|равна|около|больше|меньше] {number} {unit_of_number}
[в|] {year_loc} году [{fact}|]
[скидка|налог|прибыль|доля|рост] {percent}
минус {small} градусов
плюс {small} [градусов|]
{weekday}, {date}[, {clock}|]
"""

EVERYDAY = """
{subject_past}
{np_nom} {verb_by_np}
{np_nom} [не |] {verb_by_np} {obj}
{np_nom} [и|или] {np_nom}
[я|мы|ты|вы|они|он|она] {adv} {pron_tail}
я {verb_1sg} {obj} {place_phrase}
мы {verb_1pl} {obj} [и {verb_1pl} {obj}|]
они {adv} {verb_3pl} {obj} {place_phrase}
ты {verb_2sg} {obj}
вы {verb_2pl} {obj} {place_phrase}
[нужно|можно|надо|нельзя|пора|хочу|хотим|будем|могу|буду|стоит|лучше] {adv} {infinitive} {obj}
[пожалуйста, |]{imperative} {obj} {place_phrase}
[не |]{imperative} {obj}[, пожалуйста|]
{place_phrase} [стоит|лежит|есть|был|была|было|будет|находится] {np_nom}
{place_phrase} {np_nom_pl} [и {np_nom_pl}|]
[сегодня|вчера|завтра|утром|вечером|днём|{weekday_in}|летом|зимой|{when_day}] {subject_past}
[у меня|у него|у неё|у нас|у вас|у них] [есть|был|будет|нет|не было] {np_gen}
[мне|ему|ей|нам|вам|им] [нравится|нужен|нужна|понравился|не нравится|очень нравится] {np_nom}
[почему|когда|зачем|где|как|сколько раз|разве] [ты|вы|он|она|они] {past_any} {obj}
[если|когда|пока|потому что|хотя] {subject_past}, {subject_past}
[я думаю|мне кажется|я знаю|говорят|жаль|хорошо], что {subject_past}
[это|вот|там|здесь] {np_nom}
[это|такой|самый|очень|не очень|слишком] {adj_nom} {noun_m}
[какой|какая|какое] [сегодня|там|у вас|тут] {adj_nom} {noun_nom}
[какой|чей] {noun_m}
{noun_nom} {prep_noun}
{np_nom} {prep_noun}
{np_nom} для {np_gen}
{np_nom} без {np_gen} [и без {noun_gen}|]
{person} {past_any} {obj} {place_phrase}
{person} [и|с] {person} [поехали|пошли|ходили|ездили|приехали|живут|были] в {city_loc}
[бабушка|мама|дочь|сестра|подруга|соседка|{female}] {past_f} {obj} {time_when}
[папа|брат|сын|сосед|друг|{male}] {past_m} {obj} {time_when}
[дети|гости|родители|друзья|соседи|люди|студенты] {past_pl} {obj} {place_phrase}
[на улице|на дворе|за окном|в {city_loc}] [сегодня |завтра |] [дождь|снег|тепло|холодно|жарко|пасмурно|солнечно|сильный ветер|туман|гроза|мороз]
[мой|твой|его|её|наш|ваш|их|этот|тот] {noun_m} {past_m} {place_phrase}
[моя|твоя|её|наша|ваша|эта|та] {noun_f} {past_f} {place_phrase}
[давай|давайте] {infinitive_1pl} {obj}
[спасибо|большое спасибо|спасибо вам] за {np_acc}
[нет|да|конечно|ладно|хорошо|может быть], {subject_past}
{adv} и {adv}
не {adv}, а {adv}
{np_nom} {comparative}, чем {np_nom}
[сначала|потом|затем|наконец] {subject_past}
[один|одна|два|две|три|четыре|пять|много|мало|несколько] {np_gen_pl}
"""

CHAINS = """
{form} {form} {form}
{form} {form} {form} {form} {form}
{form}
{form} {form}
{np_any} {np_any}
{np_any} {verb_any} {np_any}
{pseudo} {form} {pseudo}
"""

SLOTS: dict[str, str] = {
    "key": "[{digit}|{digit}|{digit}|{digit} или {digit}|звёздочку|решётку|клавишу {digit}|кнопку {digit}|цифру {digit}|клавишу звёздочка|клавишу решётка]",
    "key_sign": "[решётку|звёздочку|клавишу решётка|ноль|клавишу звёздочка|решетку]",
    "digit": "[ноль|один|два|три|четыре|пять|шесть|семь|восемь|девять]",
    "ivr_thing_gen": "[связи с оператором|выхода из меню|записи сообщения|прослушивания сообщений|перехода в раздел оплаты|удаления записи|повторного прослушивания|отмены вызова|смены пароля|перезаписи приветствия|возврата в начало|получения справки|вызова мастера|настройки почты|соединения с абонентом|отправки ответа|пересылки письма|прослушивания списка|паузы|записи разговора|ввода номера|перехода к следующему пункту|восстановления пароля|изменения настроек|уменьшения громкости|увеличения громкости|отключения микрофона|выхода из системы|быстрого набора|записи имени|подтверждения]",
    "ivr_enter": "[номер|номер телефона|номер абонента|номер договора|номер заказа|номер комнаты|номер конференции|новый пароль|пароль|пароль ещё раз|код города|код доступа|дату рождения|первые буквы фамилии|имя абонента|сумму платежа|последние четыре цифры карты|внутренний номер|показания счётчика|своё имя|ваш номер|пин код|номер канала|название файла]",
    "ivr_enter_nom": "[номер|пароль|код доступа|внутренний номер|номер телефона|пин код|номер абонента|номер договора]",
    "ivr_code": "[номер|пароль|код|ввод|номер абонента|логин|выбор|формат номера|пин код|адрес|номер конференции]",
    "ivr_state": "[занят|недоступен|не отвечает|разговаривает|отключён|заблокирован|ожидает ответа|на линии|на связи|вне зоны действия сети|уже зарегистрирован|не найден|не может ответить]",
    "ivr_sorry": "[такого номера нет|номер не существует|эта услуга недоступна|эта функция недоступна|эта опция отключена|абонент не найден|вызов не может быть выполнен|соединение невозможно|ваш ящик переполнен|сообщение слишком короткое|записей не найдено|нет новых сообщений|больше записей нет|ответа нет|пароли не совпадают|номер не определён|линия перегружена|время истекло|конференция заполнена|доступ закрыт|система недоступна|вас не слышно|ничего не найдено|ваш выбор неверен|этот звонок невозможно перевести|количество попыток исчерпано|превышено число звонков]",
    "ivr_feature": "[переадресация|голосовая почта|услуга|запись разговора|блокировка номера|функция|опция|связь|защита|сигнализация|регистрация]",
    "ivr_onoff": "[включена|отключена|активирована|деактивирована|удалена|недоступна|настроена|завершена|остановлена|изменена]",
    "ivr_onoff_f": "[включена|отключена|активирована|завершена|невозможна|недоступна|началась]",
    "ivr_onoff_m": "[включён|выключен|отключён|активирован|деактивирован|недоступен|настроен]",
    "ivr_message": "[сообщение|приветствие|письмо|объявление|обращение|уведомление]",
    "ivr_conf": "[началась|начнётся|закончилась|завершена|закрыта|открыта|заблокирована|разблокирована|записывается|заполнена|начнётся через {duration}|начнётся после прихода руководителя|ждёт участников|расширена|недоступна|будет продолжена]",
    "ivr_wait": "[вам ответит первый освободившийся оператор|мы соединяем вас с абонентом|идёт соединение|ваш звонок очень важен для нас|сейчас вам ответят|происходит переключение|оператор скоро ответит|ваш вызов поставлен в очередь|соединяю с оператором|происходит регистрация|идёт проверка|выполняется поиск|осуществляется вызов]",
    "company": "[компанию|службу|отдел|центр|банк|магазин|клинику|гостиницу|поликлинику|редакцию] [{company_name}|доставки|поддержки|ремонта|{company_name}]",
    "company_name": "[звезда|север|рассвет|маяк|орион|вектор|горизонт|лидер|гарант|альфа|меркурий|восток|планета|радуга|океан|сокол|берёзка|успех|престиж|прогресс]",
    "who_calls": "[с кем я говорю|кто это|вы по какому вопросу|представьтесь, пожалуйста|компания {company_name}|служба доставки]",
    "client_goal": "[заказать {goods}|оформить заявку|узнать стоимость доставки|поменять тариф|отменить заказ|записаться к врачу|вызвать мастера|оплатить счёт|забронировать номер|купить билет до {city_gen}|получить справку|перенести встречу на {weekday_acc}|подключить интернет|узнать расписание|заблокировать карту|изменить адрес доставки|поговорить с директором|вернуть товар|открыть счёт|оставить отзыв]",
    "remind": "[позвонить {person_dat}|купить {goods}|принять лекарство|забрать посылку|выключить плиту|полить цветы|оплатить счёт|сходить в магазин|встретить {noun_acc}|проверить почту|про {noun_acc}]",
    "movie": "[новый фильм|старый фильм|мультфильм|сериал|боевик|комедию|детектив|концерт|передачу про {noun_acc}|футбол|документальный фильм]",
    "title": "[{adj_nom} {noun_m}|{noun_nom}|{noun_nom} и {noun_nom}|{ordinal_m}|россия|культура|спорт|наука|{noun_nom} {prep_noun}|{person_full}]",
    "goods": "[{small} {np_gen_pl}|{np_acc}|хлеб и молоко|пиццу|{count_kg}|воду|два билета|{np_acc} и {noun_acc}|кофе|яблоки|сметану|картофель|сыр и масло]",
    "count_kg": "[килограмм|полкило|пачку|бутылку|упаковку|литр|коробку] [яблок|молока|сахара|соли|муки|риса|сока|масла|воды|чая|гречки|конфет|творога|печенья]",
    "dish_gen": "[борща|супа|салата|пирога|блинов|котлет|плова|торта|каши|омлета|пельменей|варенья|компота|оладий|сырников|окрошки|рыбы|картошки с грибами]",
    "room_loc": "[кухне|спальне|комнате|ванной|коридоре|зале|гостиной|кабинете|детской|прихожей]",
    "place": "[вокзал|аэропорт|больница|ближайшая аптека|почта|библиотека|магазин|ваш офис|школа номер {small}|театр|парк|площадь победы|станция метро|гостиница|рынок|поликлиника|музей|стадион]",
    "place_gen": "[вокзала|аэропорта|больницы|аптеки|почты|библиотеки|магазина|офиса|школы|театра|парка|дома|работы|станции метро|гостиницы|рынка|улицы {street}|{city_gen}|поликлиники|музея|стадиона]",
    "address": "[город {city} |] улица {street}, дом {number_small}[, корпус {digit}|][, квартира {number_small}|][, подъезд {digit}|]",
    "when_day": "[сегодня|завтра|послезавтра|{weekday_in}|на выходных|{date}|на этой неделе|на следующей неделе]",
    "time_when": "[сегодня|завтра|вечером|утром|позже|через {duration}|{weekday_in}|после обеда|в {clock}|через час|завтра в {clock}|на следующей неделе|{date}|после {clock_gen}|до {clock_gen}]",
    "percent": "{number_small_pct}",
    "adj_noun": "{np_nom}",
    "prep_noun": "{prep_phrase}",
    "place_phrase": "[{prep_phrase}|{prep_phrase}|в {city_loc}|]",
    "obj": "[{np_acc}|{noun_acc}|{np_acc} {prep_phrase}|{noun_acc} и {noun_acc}|{np_acc}|]",
    "everyday": "[купить {goods}|{subject_past}|{infinitive} {obj}|{np_nom}]",
    "pron_tail": "[не знаю|не знал|не помню|устал|согласен|против|готовы|дома|работали {place_phrase}|были {place_phrase}|приедем {time_when}|ждали {np_acc}|пришли без {noun_gen}]",
    "adv": "{adverb}",
    "comparative": "[лучше|хуже|больше|меньше|дороже|дешевле|быстрее|тише|громче|красивее|важнее|проще|выше|ниже|ближе|дальше]",
    "fact": "[{person} {past_any} {obj}|построили {np_acc}|открыли {np_acc}|был построен {noun_m}|началась {noun_f}]",
    "person": "[{male}|{female}|{male} {patronymic_m}|{female} {patronymic_f}]",
    "person_full": "[{surname_m} {male}|{surname_f} {female}|{male} {surname_m}|{female} {surname_f}|{surname_m} {male} {patronymic_m}|{surname_f} {female} {patronymic_f}|{male} {patronymic_m}|{female} {patronymic_f}]",
    "spell_name": "[фамилия|имя|по буквам|запишите фамилию] {surname_m}[, по буквам {spelled}|]",
    "np_any": "[{np_nom}|{np_gen}|{np_acc}|{np_gen_pl}|{np_nom_pl}|{prep_phrase}]",
}

Domain = Literal["menus", "calls", "commands", "numbers", "everyday", "chains"]

DOMAINS: dict[Domain, str] = {
    "menus": IVR,
    "calls": CALLS,
    "commands": ASSISTANT,
    "numbers": NUMBERS,
    "everyday": EVERYDAY,
    "chains": CHAINS,
}

# what each domain is worth in a draw
Mix = dict[Domain, float]
GENERAL: Mix = {
    "menus": 0.24,
    "calls": 0.13,
    "commands": 0.11,
    "numbers": 0.12,
    "everyday": 0.28,
    "chains": 0.12,
}
_PREPOSITIONS = (
    ("в", "loc"), ("на", "loc"), ("о", "loc"), ("при", "loc"), ("с", "ins"), ("под", "ins"),
    ("над", "ins"), ("за", "ins"), ("перед", "ins"), ("между", "ins"), ("к", "dat"), ("по", "dat"),
    ("из", "gen"), ("от", "gen"), ("до", "gen"), ("для", "gen"), ("без", "gen"), ("у", "gen"),
    ("около", "gen"), ("после", "gen"), ("вместо", "gen"), ("среди", "gen"), ("через", "acc"),
    ("про", "acc"), ("в", "acc"), ("на", "acc"), ("за", "acc"),
)  # fmt: skip
_UNITS_OF_NUMBER = (
    ("рубль", "рубля", "рублей"), ("минута", "минуты", "минут"), ("час", "часа", "часов"),
    ("секунда", "секунды", "секунд"), ("день", "дня", "дней"), ("год", "года", "лет"),
    ("метр", "метра", "метров"), ("километр", "километра", "километров"),
    ("человек", "человека", "человек"), ("градус", "градуса", "градусов"),
    ("процент", "процента", "процентов"), ("доллар", "доллара", "долларов"),
    ("раз", "раза", "раз"), ("штука", "штуки", "штук"), ("литр", "литра", "литров"),
    ("килограмм", "килограмма", "килограммов"), ("тонна", "тонны", "тонн"),
    ("страница", "страницы", "страниц"), ("неделя", "недели", "недель"),
    ("месяц", "месяца", "месяцев"), ("участник", "участника", "участников"),
)  # fmt: skip
_FEMININE_UNITS = {"минута", "секунда", "штука", "тонна", "страница", "неделя"}
_SYLLABLES = _words("""ба во ги де жо зу ли мо ни по ра су та фе хи цы че ша ще бра вра гло дре кро пла сти
тро хле шко пре про при под раз без нов вер гор дом лес мир пол рек сад тор ход чис шум бег вид
стан мост крас мел зим лет кам вод нос рос ток пар""")
_ENDINGS = _words("""а ы у ой е ом ов ами ах ый ого ому ая ую ые ых ить ает или ала ение ость ник ница ский
ского ская овать уется ится ался лась ция тель""")

_SPACES = re.compile(r"\s+")
_BRACKETS = re.compile(r"\[([^\[\]]*)\]")
_BRACES = re.compile(r"\{(\w+)\}")
_NOT_LETTERS = re.compile(r"[^а-я]+")


def normalize(text: str) -> str:
    """Lower-case Russian words with single spaces, «ё» as «е»: what the network writes."""
    return _NOT_LETTERS.sub(" ", text.lower().replace("ё", "е")).strip()


def part_of(text: str) -> Part:
    """The part a text belongs to: 94 % train, 2 % watch, 4 % test, by the hash of its words."""
    bucket = int.from_bytes(hashlib.sha256(normalize(text).encode()).digest()[:4], "big") % 100
    return "test" if bucket < 4 else "watch" if bucket < 6 else "train"


class Sentence(NamedTuple):
    """A sentence and the domain it comes from."""

    text: str
    domain: Domain


class Grammar:
    """A stream of random sentences.

    Args:
        rng: Source of randomness; the same seed gives the same sentences.
        mix: Share of each domain.
    """

    def __init__(self, rng: random.Random, mix: Mix) -> None:
        self.rng = rng
        self.domains = [
            (name, [line for line in DOMAINS[name].splitlines() if line]) for name in mix
        ]
        self.weights = list(mix.values())
        goals = [line for line in IVR_GOALS.splitlines() if line]
        choose = rng.choice
        self.slots: dict[str, Callable[[], str]] = {
            "ivr_goal": lambda: choose(goals),
            "digits": self._digits,
            "phone": self._phone,
            "number": lambda: lx.number(self._magnitude()),
            "number_small": lambda: lx.number(rng.randint(1, 199)),
            "small": lambda: lx.number(rng.randint(1, 99)),
            "number_small_pct": lambda: self._counted(rng.randint(1, 100), _UNITS_OF_NUMBER[10]),
            "unit_of_number": lambda: choose(_UNITS_OF_NUMBER)[2],
            "duration": lambda: self._counted(rng.randint(1, 59), choose(_UNITS_OF_NUMBER[1:4])),
            "count_messages": lambda: self._count_messages(),
            "count_people": lambda: self._counted(rng.randint(1, 40), choose(_UNITS_OF_NUMBER[-1:] + _UNITS_OF_NUMBER[8:9])),
            "money": self._money,
            "date": lambda: f"{lx.ordinal(rng.randint(1, 31), choose(('ого', 'ого', 'ое')))} {choose(lx.MONTHS_GEN)}",
            "year": lambda: f"{self._year('ого')} года",
            "year_loc": lambda: self._year("ом"),
            "clock": self._clock,
            "clock_gen": lambda: choose(_words("часа двух трёх четырёх пяти шести семи восьми девяти десяти")) + choose((" часов", "", " вечера")),
            "ordinal_m": lambda: lx.ordinal(rng.randint(1, 99), "ый"),
            "ordinal_f": lambda: lx.ordinal(rng.randint(1, 99), "ая"),
            "ordinal_gen": lambda: lx.ordinal(rng.randint(1, 31), "ого"),
            "ordinal_acc": lambda: lx.ordinal(rng.randint(1, 31), "ое"),
            "weekday": lambda: choose(lx.WEEKDAYS_NOM),
            "weekday_acc": lambda: choose(lx.WEEKDAYS_ACC),
            "weekday_in": self._weekday_in,
            "city": lambda: choose(lx.CITIES_NOM),
            "city_loc": lambda: choose(lx.CITIES_LOC),
            "city_gen": lambda: self._city_genitive(),
            "street": lambda: choose(lx.STREETS),
            "male": lambda: choose(lx.MALE_NAMES),
            "female": lambda: choose(lx.FEMALE_NAMES),
            "patronymic_m": lambda: choose(lx.PATRONYMICS_M),
            "patronymic_f": lambda: choose(lx.PATRONYMICS_M)[:-2] + "на",
            "surname_m": lambda: choose(lx.SURNAMES_M),
            "surname_f": lambda: choose(lx.SURNAMES_M) + "а",
            "person_dat": lambda: choose(("маме", "папе", "бабушке", "брату", "сестре", "ольге", "сергею", "анне", "директору", "андрею", "на работу", "марине", "врачу", "{person}")),
            "spelled": lambda: " ".join(rng.choices(lx.LETTERS_SPELLED, k=rng.randint(1, 4))),
            "noun_nom": lambda: self._noun("nom"),
            "noun_gen": lambda: self._noun("gen"),
            "noun_acc": lambda: self._noun("acc"),
            "noun_loc": lambda: self._noun("loc"),
            "noun_m": lambda: self._gendered("m"),
            "noun_f": lambda: self._gendered("f"),
            "np_nom": lambda: self._phrase("nom"),
            "np_gen": lambda: self._phrase("gen"),
            "np_acc": lambda: self._phrase("acc"),
            "np_gen_pl": lambda: self._phrase("gen", plural=True),
            "np_nom_pl": lambda: self._phrase("nom", plural=True),
            "prep_phrase": self._prepositional,
            "adj_nom": lambda: choose(lx.ADJECTIVES),
            "adverb": lambda: choose(lx.ADVERBS),
            "verb_by_np": lambda: choose((choose(lx.VERBS).present[2], choose(lx.VERBS).present[2], choose(lx.VERBS).past["pl"])),
            "verb_1sg": lambda: choose(lx.VERBS).present[0],
            "verb_2sg": lambda: choose(lx.VERBS).present[1],
            "verb_1pl": lambda: choose(lx.VERBS).present[3],
            "verb_2pl": lambda: choose(lx.VERBS).present[4],
            "verb_3pl": lambda: choose(lx.VERBS).present[5],
            "infinitive": lambda: choose(lx.VERBS).infinitive,
            "infinitive_1pl": lambda: choose((choose(lx.VERBS).infinitive, choose(lx.VERBS).present[3])),
            "imperative": lambda: choose(lx.VERBS).imperative,
            "past_m": lambda: choose(lx.VERBS).past["m"],
            "past_f": lambda: choose(lx.VERBS).past["f"],
            "past_pl": lambda: choose(lx.VERBS).past["pl"],
            "past_any": lambda: choose(list(choose(lx.VERBS).past.values())),
            "verb_any": self._verb_form,
            "subject_past": self._subject_past,
            "form": self._form,
            "pseudo": self._pseudo_word,
        }  # fmt: skip

    def sentence(self) -> Sentence:
        """One sentence, with the commas that a reader would pause at."""
        name, templates = self.rng.choices(self.domains, self.weights)[0]
        return Sentence(self.expand(self.rng.choice(templates)), name)

    def expand(self, template: str) -> str:
        """Fill a template until neither brackets nor braces are left."""
        while True:
            found = _BRACKETS.search(template) or _BRACES.search(template)
            if found is None:
                return _SPACES.sub(" ", template).replace(" ,", ",").strip(" ,–")
            if found.group(0).startswith("["):
                value = self.rng.choice(found.group(1).split("|"))
            else:
                name = found.group(1)
                value = self.slots[name]() if name in self.slots else SLOTS[name]
            template = template[: found.start()] + value + template[found.end() :]

    def _digits(self) -> str:
        style = self.rng.random()
        if style < 0.5:
            return " ".join(
                lx.number(self.rng.randint(0, 9)) for _ in range(self.rng.randint(2, 7))
            )
        if style < 0.8:
            return " ".join(
                lx.number(self.rng.randint(10, 99)) for _ in range(self.rng.randint(1, 3))
            )
        return lx.number(self.rng.randint(100, 999))

    def _phone(self) -> str:
        groups = [
            self.rng.randint(901, 999),
            self.rng.randint(100, 999),
            self.rng.randint(0, 99),
            self.rng.randint(0, 99),
        ]
        words = [lx.number(g) if g > 9 else "ноль " + lx.number(g) for g in groups]
        if self.rng.random() < 0.3:
            words = [" ".join(lx.number(int(d)) for d in str(g)) for g in groups]
        prefix = self.rng.choice(("восемь ", "плюс семь ", ""))
        return prefix + " ".join(words[self.rng.choice((0, 0, 1)) :])

    def _magnitude(self) -> int:
        return self.rng.randint(1, 10 ** self.rng.choice((1, 2, 2, 3, 3, 4, 5, 6)))

    def _counted(self, value: int, forms: tuple[str, str, str]) -> str:
        return (
            f"{lx.number(value, feminine=forms[0] in _FEMININE_UNITS)} {lx.plural(value, *forms)}"
        )

    def _count_messages(self) -> str:
        value = self.rng.choice((1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 20, 21, 30))
        kind = self.rng.choice(
            ("нов", "стар", "непрослушанн", "сохранённ", "голосов", "важн", "рабоч")
        )
        one, few = (kind + "ое", kind + "ых") if kind != "рабоч" else ("рабочее", "рабочих")
        count = "одно" if value == 1 else lx.number(value)
        return f"{count} {one if value == 1 else few} {lx.plural(value, 'сообщение', 'сообщения', 'сообщений')}"

    def _money(self) -> str:
        value = self._magnitude()
        text = self._counted(
            value, self.rng.choice((_UNITS_OF_NUMBER[0], _UNITS_OF_NUMBER[0], _UNITS_OF_NUMBER[11]))
        )
        if self.rng.random() < 0.25:
            cents = self.rng.randint(1, 99)
            text += f" {lx.number(cents, feminine=True)} {lx.plural(cents, 'копейка', 'копейки', 'копеек')}"
        return text

    def _year(self, ending: str) -> str:
        value = self.rng.randint(1, 99)
        century = "тысяча девятьсот" if value > 40 else "две тысячи"
        return f"{century} {lx.ordinal(value, ending)}"

    def _clock(self) -> str:
        hour, minute = (
            self.rng.randint(0, 23),
            self.rng.choice((0, 0, 5, 10, 15, 20, 30, 30, 40, 45, 50, 59)),
        )
        if minute == 30 and self.rng.random() < 0.4:
            return "половине " + lx.ordinal(self.rng.randint(1, 12), "ого")
        hours = self._counted(hour, _UNITS_OF_NUMBER[2])
        if minute == 0:
            return self.rng.choice((hours, hours, lx.number(hour) + " ноль ноль"))
        short = f"{lx.number(hour)} {'ноль ' if minute < 10 else ''}{lx.number(minute)}"
        return self.rng.choice((short, f"{hours} {self._counted(minute, _UNITS_OF_NUMBER[1])}"))

    def _weekday_in(self) -> str:
        day = self.rng.choice(lx.WEEKDAYS_ACC)
        return ("во " if day == "вторник" else "в ") + day

    def _city_genitive(self) -> str:
        locative = self.rng.choice(lx.CITIES_LOC)
        nominative = lx.CITIES_NOM[lx.CITIES_LOC.index(locative)]
        if nominative[-1] == "а":
            return nominative[:-1] + ("и" if nominative[-2] in "кгх" else "ы")
        if nominative[-1] in "ьи":
            return locative
        return locative[:-1] + "а" if locative.endswith("е") else locative

    def _noun(self, case: str) -> str:
        noun = self.rng.choice(lx.NOUNS)
        forms = noun.plural if self.rng.random() < 0.25 else noun.singular
        return forms[case]

    def _gendered(self, gender: str) -> str:
        while True:
            noun = self.rng.choice(lx.NOUNS)
            if noun.gender == gender:
                return noun.singular["nom"]

    def _phrase(self, case: str, *, plural: bool = False) -> str:
        noun = self.rng.choice(lx.NOUNS)
        plural = plural or self.rng.random() < 0.2
        text = (noun.plural if plural else noun.singular)[case]
        if self.rng.random() < 0.65:
            gender = "pl" if plural else noun.gender
            text = f"{lx.adjective(self.rng.choice(lx.ADJECTIVES), gender, case, animate=noun.animate)} {text}"
        return text

    def _prepositional(self) -> str:
        preposition, case = self.rng.choice(_PREPOSITIONS)
        return f"{preposition} {self._phrase(case)}"

    def _subject_past(self) -> str:
        noun = self.rng.choice(lx.PEOPLE if self.rng.random() < 0.7 else lx.THINGS)
        verb = self.rng.choice(lx.VERBS)
        subject = noun.singular["nom"]
        if self.rng.random() < 0.5:
            subject = (
                f"{lx.adjective(self.rng.choice(lx.ADJECTIVES), noun.gender, 'nom')} {subject}"
            )
        adverb = self.rng.choice(lx.ADVERBS) if self.rng.random() < 0.4 else ""
        obj = self.rng.choice(
            ("{np_acc}", "{noun_acc}", "{prep_phrase}", "{noun_acc} {prep_phrase}", "")
        )
        return (
            f"{subject} {adverb} {self.rng.choice(('', '', 'не '))}{verb.past[noun.gender]} {obj}"
        )

    def _verb_form(self) -> str:
        verb = self.rng.choice(lx.VERBS)
        return self.rng.choice(
            (*verb.present, *verb.past.values(), verb.infinitive, verb.imperative)
        )

    def _form(self) -> str:
        kind = self.rng.random()
        if kind < 0.45:
            noun = self.rng.choice(lx.NOUNS)
            return self.rng.choice((*noun.singular.values(), *noun.plural.values()))
        if kind < 0.7:
            gender, case = self.rng.choice(("m", "f", "n", "pl")), self.rng.choice(lx.CASES)
            return lx.adjective(self.rng.choice(lx.ADJECTIVES), gender, case)
        return self._verb_form() if kind < 0.95 else self.rng.choice(lx.ADVERBS)

    def _pseudo_word(self) -> str:
        return "".join(self.rng.choices(_SYLLABLES, k=self.rng.randint(1, 2))) + self.rng.choice(
            _ENDINGS
        )


def sentences(
    seed: int, part: Part, excluded: Iterable[str] = (), mix: Mix = GENERAL
) -> Iterator[Sentence]:
    """Endless distinct sentences of one part.

    Args:
        seed: Seed of the generator.
        part: Which part of the text space to draw from.
        excluded: Texts that must not be produced, alone or inside a longer sentence (the latter
            only if they have three words or more: «спасибо» alone may be said by anyone).
        mix: Share of each domain.
    """
    banned = {normalize(text) for text in excluded}
    banned_inside = [f" {text} " for text in banned if text.count(" ") >= 2]
    grammar = Grammar(random.Random(seed), mix)
    seen: set[str] = set()
    while True:
        sentence = grammar.sentence()
        key = normalize(sentence.text)
        if not key or len(key) > 110 or key in seen or key in banned or part_of(key) != part:
            continue
        if any(text in f" {key} " for text in banned_inside):
            continue
        seen.add(key)
        yield sentence


def main() -> None:
    """Print sentences."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--part", choices=("train", "watch", "test"), default="train")
    parser.add_argument("--count", type=int, default=20)
    arguments = parser.parse_args()
    for _, sentence in zip(
        range(arguments.count), sentences(arguments.seed, arguments.part), strict=False
    ):
        print(sentence.text)


if __name__ == "__main__":
    main()
